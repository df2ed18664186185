#pragma once

/// Nothing to call: to be linked is enough. Tests under the thread sanitizer depend on it.
