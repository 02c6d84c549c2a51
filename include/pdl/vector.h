/* SPDX-License-Identifier: MIT */
/** @file
 * libpdl-rtc: the host side of pdl/vector.cuh: the width of the vectors, and the launch's shape.
 *
 * With the conventions of pdl/pdl.h. Element-wise kernels are templates over types and a width.
 * The plan supplies the name for pdl_rtc_kernel() and the shape for pdl_launch_desc.
 */
#ifndef PDL_VECTOR_H
#define PDL_VECTOR_H

#include <stddef.h>
#include <stdint.h>

#include <pdl/pdl.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The types of pdl/types.cuh. */
typedef enum pdl_vector_type {
    PDL_VECTOR_FLOAT64 = 1,     /**< double */
    PDL_VECTOR_FLOAT32 = 2,     /**< float */
    PDL_VECTOR_FLOAT16 = 3,     /**< pdl_half, `__half` */
    PDL_VECTOR_BFLOAT16 = 4,    /**< pdl_bfloat16, `__nv_bfloat16` */
    PDL_VECTOR_FLOAT8_E4M3 = 5, /**< pdl_float8_e4m3, `__nv_fp8_e4m3` */
    PDL_VECTOR_FLOAT8_E5M2 = 6, /**< pdl_float8_e5m2, `__nv_fp8_e5m2` */
    PDL_VECTOR_INT8 = 7,        /**< signed char */
    PDL_VECTOR_UINT8 = 8,       /**< unsigned char */
    PDL_VECTOR_INT16 = 9,       /**< short */
    PDL_VECTOR_UINT16 = 10,     /**< unsigned short */
    PDL_VECTOR_INT32 = 11,      /**< int */
    PDL_VECTOR_UINT32 = 12,     /**< unsigned */
    PDL_VECTOR_INT64 = 13,      /**< long long */
    PDL_VECTOR_UINT64 = 14,     /**< unsigned long long */
    PDL_VECTOR_BOOL = 15        /**< bool: a byte */
} pdl_vector_type;

/** The name of a type in device code, such as "pdl_half"; NULL for an unknown number. Static. */
PDL_API const char *pdl_vector_type_name(pdl_vector_type type);

/** Bytes of an element; 0 for an unknown number. */
PDL_API uint32_t pdl_vector_type_size(pdl_vector_type type);

/** An array of a kernel: `rows` rows of `columns` elements, see pdl_vector_plan_make(). Callers have
 * arrays of it: it never changes. */
typedef struct pdl_vector_operand {
    uint64_t address;      /**< In device memory, a multiple of `element_size`. Not read. */
    int64_t stride;        /**< Elements from row to row; ignored if there is one row. */
    uint32_t element_size; /**< 1, 2, 4 or 8; see pdl_vector_type_size(). */
    uint32_t reserved;     /**< 0. */
} pdl_vector_operand;

/** The maximum number of arrays of a kernel. */
#define PDL_VECTOR_OPERANDS_MAX 32

/** A launch of a kernel made with pdl_vector_map(). Start from PDL_VECTOR_PLAN_INIT. */
typedef struct pdl_vector_plan {
    uint32_t size;     /**< sizeof(pdl_vector_plan) as the caller was compiled. */
    uint32_t width;    /**< Elements of a vector: the template's `Width`. */
    uint32_t unroll;   /**< Vectors per thread and step, 1 or 4: the template's `Unroll`. */
    uint32_t shifted;  /**< Bit i: operand i is not always aligned as the output is, so its vectors
                            are assembled from aligned ones. */
    uint32_t guarded;  /**< 1 if a row has elements before or after its vectors. */
    uint32_t reserved; /**< 0. */
    int64_t rows;      /**< The kernel's argument: rows without gaps are merged into one. */
    int64_t columns;   /**< Elements of such a row. */
    uint32_t grid[3];  /**< Blocks, at least 1 even if there are no elements. */
    uint32_t block[3]; /**< Threads. */
} pdl_vector_plan;

/** Initializer of a pdl_vector_plan. */
#define PDL_VECTOR_PLAN_INIT PDL_SIZED_INIT_(pdl_vector_plan)

/**
 * Plans a launch: the width by the types, pointers and strides, the shape by the device.
 *
 * The width is the largest power of two with which no vector has more than 16 bytes (32 from
 * compute capability 10.0 on) and at least half of each row is in vectors. All widths and shapes
 * give the same result.
 * @param operands the output, then the inputs
 * @param count how many arrays, at most PDL_VECTOR_OPERANDS_MAX
 * @param rows of each array; 1 for a plain array
 * @param columns elements of a row
 * @param device the ordinal, or -1 for the current context's
 * @param[in,out] plan its size field says how much of it the caller knows
 * Errors: PDL_ERROR_INVALID_ARGUMENT (also an address that is not a multiple of its element's
 * size, and an output whose rows overlap), PDL_ERROR_DESC_SIZE, those of pdl_device_get() and, for
 * -1: the current context's.
 */
PDL_API pdl_status pdl_vector_plan_make(const pdl_vector_operand *operands, size_t count,
                                        int64_t rows, int64_t columns, int device,
                                        pdl_vector_plan *plan);

#ifdef __cplusplus
}
#endif

#endif /* PDL_VECTOR_H */
