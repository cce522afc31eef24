// Attributes of one XML element, taken with their types. Knows spellings and how an error is
// worded. Does not know which element has which attribute.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <pugixml.hpp>

#include "base/result.h"

namespace gyre {

// Where elements stand in the file, and what of it nobody asked for.
class XmlSource {
 public:
  XmlSource(std::string_view text, std::string name);
  std::size_t line_of(std::ptrdiff_t offset) const;
  std::size_t line_of(const pugi::xml_node& element) const;
  // "machine.xml:12: <pci> ...".
  Error error_at(const pugi::xml_node& element, const std::string& what) const;
  const std::string& name() const { return name_; }
  void ignored(const std::string& what, const pugi::xml_node& element);
  // One line for all that was ignored; empty when nothing was.
  std::string warning() const;

 private:
  std::string name_;
  std::vector<std::size_t> line_starts_;
  std::set<std::string> ignored_;
  std::size_t ignored_line_ = 0;
};

// Takes attributes out of an element; an absent one leaves the target as it is.
class XmlFields {
 public:
  XmlFields(XmlSource& source, const pugi::xml_node& element)
      : source_(source), element_(element) {}

  Status need(const char* name) const;
  Status text(const char* name, std::string& out);
  Status integer(const char* name, std::int64_t least, std::int64_t most, int& out);
  Status word(const char* name, std::uint64_t most, std::uint64_t& out);  // decimal or 0x...
  Status word(const char* name, std::uint32_t& out);
  Status real(const char* name, double& out);        // not negative
  Status flag(const char* name, bool& out);          // 0 or 1
  Status link_speed(const char* name, double& out);  // "16.0 GT/s PCIe"
  // Reports what nobody took.
  void finish();

 private:
  const char* take(const char* name);  // null when absent
  Error wrong(const char* name, const std::string& found, const std::string& expected) const;
  XmlSource& source_;
  pugi::xml_node element_;
  std::set<std::string> taken_;
};

}  // namespace gyre
