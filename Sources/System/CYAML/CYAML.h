/* libyaml as Swift sees it. */
#ifndef FLUXBUS_CYAML_H
#define FLUXBUS_CYAML_H

#include <yaml.h>

#endif
