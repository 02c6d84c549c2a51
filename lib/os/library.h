/* SPDX-License-Identifier: MIT */
/* Libraries that are opened while the program runs. */
#ifndef PDL_LIB_LIBRARY_H
#define PDL_LIB_LIBRARY_H

/* The names of those that libpdl opens. */
#ifdef _WIN32
#define PDL_LIBRARY_CUDA       "nvcuda.dll"
#define PDL_LIBRARY_LZ4        "liblz4.dll"
#define PDL_LIBRARY_ZSTD       "libzstd.dll"
#define PDL_LIBRARY_INSPECT(n) "pdl-inspect.dll"
#else
#define PDL_LIBRARY_CUDA       "libcuda.so.1"
#define PDL_LIBRARY_LZ4        "liblz4.so.1"
#define PDL_LIBRARY_ZSTD       "libzstd.so.1"
#define PDL_LIBRARY_INSPECT(n) "libpdl-inspect.so." n
#endif

/* Opens a library: NULL, and pdl_library_error(), if it cannot be. A name without a folder is searched for as the
 * dynamic linker does; on Windows the driver in the system's folder alone, and others in it and beside the program. */
void *pdl_library_open(const char *name);

/* The same for one that lies beside the library that this code is in, or else anywhere. */
void *pdl_library_open_beside(const char *name);

/* A function; NULL if there is none of that name. */
void *pdl_library_symbol(void *library, const char *name);

void pdl_library_close(void *library);

/* Why this thread's last call of those above failed; it names "No such file" where there is none. Never NULL. */
const char *pdl_library_error(void);

#endif /* PDL_LIB_LIBRARY_H */
