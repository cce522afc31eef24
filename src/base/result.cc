#include "base/result.h"

#include <system_error>

namespace gyre {

const char* to_text(Code code) {
  switch (code) {
    case Code::ok:
      return "no error";
    case Code::cuda:
      return "CUDA error";
    case Code::system:
      return "system error";
    case Code::internal:
      return "internal error";
    case Code::invalid_argument:
      return "invalid argument";
    case Code::invalid_usage:
      return "invalid usage";
    case Code::remote:
      return "remote rank failed";
    case Code::in_progress:
      return "in progress";
    case Code::timeout:
      return "time-out";
    case Code::aborted:
      return "aborted";
  }
  return "unknown result code";
}

Error&& Error::because(int errno_value) && {
  text += ": ";
  text += std::error_code(errno_value, std::generic_category()).message();
  return std::move(*this);
}

Error&& Error::context(std::string doing) && {
  text += ", while ";
  text += doing;
  return std::move(*this);
}

Error&& Error::blame(int culprit) && {
  rank = culprit;
  return std::move(*this);
}

}  // namespace gyre
