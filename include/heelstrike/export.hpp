/// What of the shared library is seen from outside.
#pragma once

#define HEELSTRIKE_API __attribute__((visibility("default")))
