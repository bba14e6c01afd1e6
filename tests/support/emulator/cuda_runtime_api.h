// See cuda_runtime.h of this folder.
#pragma once

#include "cuda_runtime.h"
