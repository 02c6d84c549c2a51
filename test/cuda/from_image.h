/* SPDX-License-Identifier: MIT */
/* One kernel of an image that nothing else needs: for tests that are about kernels. */
#ifndef PDL_TEST_FROM_IMAGE_H
#define PDL_TEST_FROM_IMAGE_H

#include <pdl/pdl.h>

static inline pdl_status kernel_from_image(const void *bytes, size_t size, const char *name,
                                           pdl_kernel **kernel)
{
    pdl_image *image = NULL;
    pdl_status status = pdl_image_load(bytes, size, &image);
    if (status == PDL_SUCCESS) {
        status = pdl_image_kernel(image, name, kernel);
    }
    pdl_image_free(image);
    return status;
}

static inline pdl_status kernel_from_file(const char *path, const char *name, pdl_kernel **kernel)
{
    pdl_image *image = NULL;
    pdl_status status = pdl_image_load_file(path, &image);
    if (status == PDL_SUCCESS) {
        status = pdl_image_kernel(image, name, kernel);
    }
    pdl_image_free(image);
    return status;
}

static inline pdl_status kernel_from_function_image(struct CUfunc_st *function, const void *bytes,
                                                    size_t size, pdl_kernel **kernel)
{
    pdl_image *image = NULL;
    pdl_status status = pdl_image_load(bytes, size, &image);
    if (status == PDL_SUCCESS) {
        status = pdl_kernel_from_function(function, image, kernel);
    }
    pdl_image_free(image);
    return status;
}

static inline pdl_status kernel_from_kernel_image(struct CUkern_st *of, const void *bytes,
                                                  size_t size, pdl_kernel **kernel)
{
    pdl_image *image = NULL;
    pdl_status status = pdl_image_load(bytes, size, &image);
    if (status == PDL_SUCCESS) {
        status = pdl_kernel_from_kernel(of, image, kernel);
    }
    pdl_image_free(image);
    return status;
}

#endif /* PDL_TEST_FROM_IMAGE_H */
