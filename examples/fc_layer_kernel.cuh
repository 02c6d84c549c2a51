/* SPDX-License-Identifier: MIT */
/* The kernel of fc_layer.cuh. It may be included again, in a namespace of its own, where PDL_TRACE is
 * another: then it is compiled with its trace as well as without. */

/* The rows must be a multiple of 32, the columns of 256; the grid at most rows / fc_shape::rows. */
template <int Tiles, typename Out>
__global__ void __launch_bounds__(fc_shape<Tiles>::threads, 2 * fc_shape<Tiles>::blocks_per_sm)
    fc_layer(const __nv_bfloat16 *weights, const __nv_bfloat16 *x, Out *y, int rows, int cols,
             int batch, kernel_stamps *stamps PDL_TRACE_PARAMETER)
{
    using shape = fc_shape<Tiles>;
    extern __shared__ uint4 ring[];
    float *sums = reinterpret_cast<float *>(ring) + shape::ring_bytes / 4; /* [warp][batch][row] */

    PDL_CONSTANT_PARAM(weights);
    PDL_TRACE_BEGIN();
    stamp_start(stamps);

    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int group = lane / 4; /* which row of W and of x the tensor core takes from this lane */
    const int quad = lane % 4;  /* which columns */
    const int first_col = warp * shape::step_cols + quad * 8;
    const int grid = static_cast<int>(gridDim.x);
    const int block = static_cast<int>(blockIdx.x);
    const int steps_per_tile = cols / shape::block_cols;
    const int steps = (rows / shape::rows - block + grid - 1) / grid * steps_per_tile;

    auto piece = [&](int step, int index) {
        return ring + ((step % shape::stages) * shape::pieces + index) * shape::threads +
               threadIdx.x;
    };

    const __nv_bfloat16 *next_w =
        weights + static_cast<size_t>(block * shape::rows + group) * cols + first_col;
    int next_w_col = 0;
    auto fetch_weights = [&](int step) {
#pragma unroll
        for (int i = 0; i < 2 * Tiles; i++) {
            copy_async(piece(step, i), next_w + static_cast<size_t>(8 * i) * cols, 16);
        }
        next_w += shape::block_cols;
        next_w_col += shape::block_cols;
        if (next_w_col == cols) { /* on to the block's next rows */
            next_w_col = 0;
            next_w += static_cast<size_t>(grid * shape::rows - 1) * cols;
        }
    };
    int next_x_col = 0;
    auto fetch_x = [&](int step) {
#pragma unroll
        for (int i = 0; i < Tiles; i++) {
            const int n = group + 8 * i;
            const __nv_bfloat16 *from =
                n < batch ? x + static_cast<size_t>(n) * cols + first_col + next_x_col : x;
            copy_async(piece(step, 2 * Tiles + i), from, n < batch ? 16 : 0);
        }
        next_x_col = next_x_col + shape::block_cols == cols ? 0 : next_x_col + shape::block_cols;
    };

    for (int step = 0; step < shape::stages && step < steps; step++) {
        fetch_weights(step);
    }
    copy_commit();

    PDL_TRACE_WAIT(); /* x is there from here on, and nobody reads the old y any more */
    PDL_TRACE_LAUNCH_DEPENDENTS(); /* the next layer may start on its weights */

    for (int step = 0; step < shape::stages; step++) {
        if (step < steps) {
            fetch_x(step);
        }
        copy_commit();
    }

    float sum[Tiles][Tiles][4] = {};
    int col = 0;
    int tile = block;
    for (int step = 0; step < steps; step++) {
        copy_wait<shape::stages - 1>();
        uint4 w[2 * Tiles], v[Tiles];
#pragma unroll
        for (int i = 0; i < 2 * Tiles; i++) {
            w[i] = *piece(step, i);
        }
#pragma unroll
        for (int i = 0; i < Tiles; i++) {
            v[i] = *piece(step, 2 * Tiles + i);
        }
        /* Which 16 of the 32 columns are multiplied first does not matter, as long as W and x
         * agree: so each lane's 8 neighbouring columns go 4 and 4. */
#pragma unroll
        for (int m = 0; m < Tiles; m++) {
            const uint4 &a = w[2 * m], &b = w[2 * m + 1]; /* rows `group` and `group` + 8 */
#pragma unroll
            for (int n = 0; n < Tiles; n++) {
                multiply(sum[m][n], a.x, b.x, a.y, b.y, v[n].x, v[n].y);
                multiply(sum[m][n], a.z, b.z, a.w, b.w, v[n].z, v[n].w);
            }
        }
        if (step + shape::stages < steps) {
            fetch_weights(step + shape::stages);
            fetch_x(step + shape::stages);
        }
        copy_commit();

        col += shape::block_cols;
        if (col < cols) {
            continue;
        }
        /* The rows are done: add up the warps' shares. */
#pragma unroll
        for (int m = 0; m < Tiles; m++) {
#pragma unroll
            for (int n = 0; n < Tiles; n++) {
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    const int in_batch = 8 * n + 2 * quad + i % 2;
                    const int row = 16 * m + group + 8 * (i / 2);
                    sums[(warp * shape::batch + in_batch) * shape::rows + row] = sum[m][n][i];
                    sum[m][n][i] = 0;
                }
            }
        }
        __syncthreads();
        for (int i = static_cast<int>(threadIdx.x); i < shape::batch * shape::rows;
             i += shape::threads) {
            const int in_batch = i / shape::rows;
            float total = 0;
#pragma unroll
            for (int j = 0; j < shape::warps; j++) {
                total += sums[j * shape::batch * shape::rows + i];
            }
            if (in_batch < batch) {
                store(y + static_cast<size_t>(in_batch) * rows + tile * shape::rows +
                          i % shape::rows,
                      total);
            }
        }
        __syncthreads();
        col = 0;
        tile += grid;
    }
    stamp_end(stamps);
    PDL_TRACE_END();
}
