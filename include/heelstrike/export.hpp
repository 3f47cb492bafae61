/// Visibility of the symbols of the shared library.
#pragma once

#define HEELSTRIKE_API __attribute__((visibility("default")))
