// The consumer has a header of a name that Attune's tree has as well.
#pragma once

int code_of_nothing();
