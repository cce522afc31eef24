/* A plug-in of a version that never was: its table ends too early. */
#include <gyre/transport.h>

__attribute__((visibility("default"))) const gyreTransportPlugin_v1_t gyreTransportPlugin_v1 = {
    .size = offsetof(gyreTransportPlugin_v1_t, post),
    .name = "small",
};
