/* SPDX-License-Identifier: MIT */
/** @file
 * Element-wise work over arrays of any types, with vector loads and stores: for kernels.
 *
 * For nvcc, clang and NVRTC, C++11 and newer; it includes only pdl/types.cuh. Arrays are in global
 * memory, and no memory outside them is read or written, whatever their alignment. pdl/vector.h
 * has the host side, the launch's shape.
 */
#ifndef PDL_VECTOR_CUH
#define PDL_VECTOR_CUH

#include <pdl/types.cuh>

/** An array of rows: row r begins at data + r * stride. */
template <typename T> struct pdl_rows {
    T *data;          /**< Its first element, aligned to its size. */
    long long stride; /**< Elements from row to row. */
};

#if defined(__CUDACC__) || defined(__CUDA__)

/* ------------------------------------------------------------------------------------------------
 * Vectors: some bytes, in 32-bit words
 * ---------------------------------------------------------------------------------------------- */

/* 32 bytes in one instruction: compute capability 10.0, and a compiler whose PTX has it. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000 && defined(__CUDACC_VER_MAJOR__) &&            \
    (__CUDACC_VER_MAJOR__ > 12 || (__CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ >= 9))
#define PDL_VECTOR_MOST_ 32
#else
#define PDL_VECTOR_MOST_ 16
#endif

PDL_TYPES_INLINE_ unsigned long long pdl_global_(const void *pointer)
{
    unsigned long long address;
    asm("cvta.to.global.u64 %0, %1;" : "=l"(address) : "l"(pointer));
    return address;
}

/* One load or store of so many bytes, as the words at `w`. Volatile and barriers: they stay behind the
 * wait, and those of several vectors are issued one after the other. */
template <int Bytes> struct pdl_access_;

#define PDL_VECTOR_ACCESS_(bytes, type)                                                            \
    template <> struct pdl_access_<bytes> {                                                        \
        static PDL_TYPES_INLINE_ void load(unsigned *w, unsigned long long at)                     \
        {                                                                                          \
            asm volatile("ld.global." type " %0, [%1];" : "=r"(w[0]) : "l"(at) : "memory");        \
        }                                                                                          \
        static PDL_TYPES_INLINE_ void store(const unsigned *w, unsigned long long at)              \
        {                                                                                          \
            asm volatile("st.global." type " [%0], %1;" ::"l"(at), "r"(w[0]) : "memory");          \
        }                                                                                          \
    };
PDL_VECTOR_ACCESS_(1, "u8")
PDL_VECTOR_ACCESS_(2, "u16")
PDL_VECTOR_ACCESS_(4, "u32")
#undef PDL_VECTOR_ACCESS_

template <> struct pdl_access_<8> {
    static PDL_TYPES_INLINE_ void load(unsigned *w, unsigned long long at)
    {
        asm volatile("ld.global.v2.u32 {%0, %1}, [%2];"
                     : "=r"(w[0]), "=r"(w[1])
                     : "l"(at)
                     : "memory");
    }
    static PDL_TYPES_INLINE_ void store(const unsigned *w, unsigned long long at)
    {
        asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(at), "r"(w[0]), "r"(w[1]) : "memory");
    }
};

template <> struct pdl_access_<16> {
    static PDL_TYPES_INLINE_ void load(unsigned *w, unsigned long long at)
    {
        asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                     : "l"(at)
                     : "memory");
    }
    static PDL_TYPES_INLINE_ void store(const unsigned *w, unsigned long long at)
    {
        asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(at), "r"(w[0]), "r"(w[1]),
                     "r"(w[2]), "r"(w[3])
                     : "memory");
    }
};

#if PDL_VECTOR_MOST_ == 32
template <> struct pdl_access_<32> {
    static PDL_TYPES_INLINE_ void load(unsigned *w, unsigned long long at)
    {
        asm volatile("ld.global.v8.b32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8];"
                     : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3]), "=r"(w[4]), "=r"(w[5]),
                       "=r"(w[6]), "=r"(w[7])
                     : "l"(at)
                     : "memory");
    }
    static PDL_TYPES_INLINE_ void store(const unsigned *w, unsigned long long at)
    {
        asm volatile("st.global.v8.b32 [%0], {%1, %2, %3, %4, %5, %6, %7, %8};" ::"l"(at),
                     "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]), "r"(w[4]), "r"(w[5]), "r"(w[6]),
                     "r"(w[7])
                     : "memory");
    }
};
#endif

template <int Bytes> struct pdl_words_ {
    static const int count = (Bytes + 3) / 4;
    unsigned w[count];

    /* Element `i` of the size of T. */
    template <typename T> PDL_TYPES_INLINE_ T get(int i) const
    {
        const int at = i * static_cast<int>(sizeof(T));
        unsigned long long bits = w[at / 4] >> (at % 4 * 8);
        if (sizeof(T) == 8) {
            bits |= static_cast<unsigned long long>(w[at / 4 + (sizeof(T) == 8 ? 1 : 0)]) << 32;
        }
        T value;
        PDL_TYPES_COPY_(&value, &bits, sizeof(value));
        return value;
    }

    /* The words of an element that comes later in a word must not be set before. */
    template <typename T> PDL_TYPES_INLINE_ void set(int i, T value)
    {
        const int at = i * static_cast<int>(sizeof(T));
        unsigned long long bits = 0;
        PDL_TYPES_COPY_(&bits, &value, sizeof(value));
        const unsigned low = static_cast<unsigned>(bits) << (at % 4 * 8);
        w[at / 4] = at % 4 == 0 ? low : w[at / 4] | low;
        if (sizeof(T) == 8) {
            w[at / 4 + (sizeof(T) == 8 ? 1 : 0)] = static_cast<unsigned>(bits >> 32);
        }
    }

    template <int Piece> PDL_TYPES_INLINE_ void load(unsigned long long at)
    {
#pragma unroll
        for (int i = 0; i < Bytes; i += Piece) {
            pdl_access_<Piece>::load(w + i / 4, at + i);
        }
    }

    template <int Piece> PDL_TYPES_INLINE_ void store(unsigned long long at) const
    {
#pragma unroll
        for (int i = 0; i < Bytes; i += Piece) {
            pdl_access_<Piece>::store(w + i / 4, at + i);
        }
    }
};

/* Moves the words down by those of Step, Step / 2 ... 1 that are in `shift`, which is in bytes. */
template <int Step> struct pdl_shift_words_ {
    template <int Bytes>
    static PDL_TYPES_INLINE_ void down(pdl_words_<Bytes> &words, unsigned shift)
    {
        const bool moves = (shift & 4u * Step) != 0;
#pragma unroll
        for (int i = 0; i < pdl_words_<Bytes>::count - Step; i++) {
            const unsigned here = words.w[i]; /* by value, so that no address is chosen */
            const unsigned there = words.w[i + Step];
            words.w[i] = moves ? there : here;
        }
        pdl_shift_words_<Step / 2>::down(words, shift);
    }
};
template <> struct pdl_shift_words_<0> {
    template <int Bytes> static PDL_TYPES_INLINE_ void down(pdl_words_<Bytes> &, unsigned)
    {
    }
};

/* The bytes from `shift` on, out of whole, aligned pieces of which the first holds that byte. */
template <int Bytes, int Piece>
PDL_TYPES_INLINE_ void pdl_shift_(pdl_words_<Bytes> &to, pdl_words_<Bytes + Piece> &from,
                                  unsigned shift)
{
    pdl_shift_words_<Piece / 8>::down(from, shift);
#pragma unroll
    for (int i = 0; i < pdl_words_<Bytes>::count; i++) {
        asm("shf.r.wrap.b32 %0, %1, %2, %3;"
            : "=r"(to.w[i])
            : "r"(from.w[i]), "r"(from.w[i + 1]), "r"(shift % 4 * 8));
    }
}

/* ------------------------------------------------------------------------------------------------
 * Inputs
 * ---------------------------------------------------------------------------------------------- */

/* The largest piece for vectors of so many bytes, and of at most `most`. */
template <int Bytes, int Most = PDL_VECTOR_MOST_> struct pdl_piece_ {
    static const int value = Bytes < Most ? Bytes : Most;
};

/* A row of an array that is read: vectors of `Width` elements from element `head` on. */
template <int Width, typename T> struct pdl_input_ {
    static const int size = static_cast<int>(sizeof(T));
    static const int bytes = Width * size;
    static const int piece = pdl_piece_<bytes>::value;
    static const int aligned = pdl_piece_<bytes, 16>::value; /* what shifted loads are made of */
    typedef pdl_words_<bytes> words;

    unsigned long long begin, end, first;

    PDL_TYPES_INLINE_ pdl_input_(const T *row, long long head, long long count)
        : begin(pdl_global_(row)), end(begin + count * size), first(begin + head * size)
    {
    }

    PDL_TYPES_INLINE_ void load_each(words &to, unsigned long long at) const
    {
#pragma unroll
        for (int i = 0; i < Width; i++) {
            pdl_words_<size> one;
            one.template load<size>(at + i * size);
            to.set(i, one.template get<T>(0));
        }
    }

    /* Vectors `vector`, `vector` + `step` and so on, those of them that are below `vectors`. */
    template <int Unroll>
    PDL_TYPES_INLINE_ void load(words (&to)[Unroll], long long vector, unsigned step,
                                long long vectors) const
    {
        if ((first & (piece - 1u)) == 0) {
#pragma unroll
            for (int u = 0; u < Unroll; u++) {
                const long long each = vector + static_cast<long long>(u) * step;
                if (each < vectors) {
                    to[u].template load<piece>(first + each * bytes);
                }
            }
            return;
        }
        const int whole = aligned < 4 ? 4 : aligned; /* below 4 it is not executed */
        const unsigned shift = static_cast<unsigned>(first) & (aligned - 1u);
        const long long last = vector + static_cast<long long>(Unroll - 1) * step;
        /* Behind the last vector there is less than a vector: the end keeps them out, too. */
        if (aligned >= 4 && first + vector * bytes - shift >= begin &&
            first + last * bytes - shift + bytes + aligned <= end) {
            pdl_words_<bytes + whole> around[Unroll];
#pragma unroll
            for (int u = 0; u < Unroll; u++) { /* all of them before one is waited for */
                const long long each = vector + static_cast<long long>(u) * step;
                around[u].template load<whole>(first + each * bytes - shift);
            }
#pragma unroll
            for (int u = 0; u < Unroll; u++) {
                pdl_shift_<bytes, whole>(to[u], around[u], shift);
            }
            return;
        }
#pragma unroll
        for (int u = 0; u < Unroll; u++) {
            const long long each = vector + static_cast<long long>(u) * step;
            if (each < vectors) {
                load_each(to[u], first + each * bytes);
            }
        }
    }

    PDL_TYPES_INLINE_ T element(long long i) const
    {
        pdl_words_<size> one;
        one.template load<size>(begin + i * size);
        return one.template get<T>(0);
    }
};

/* All that is read: some vectors of each, and the operator's call with one value of each. */
template <int Width, int Unroll, typename... T> struct pdl_inputs_;

template <int Width, int Unroll> struct pdl_inputs_<Width, Unroll> {
    PDL_TYPES_INLINE_ pdl_inputs_(long long, long long, long long)
    {
    }
    PDL_TYPES_INLINE_ void load(long long, unsigned, long long)
    {
    }
    template <typename Op, typename Result, typename... V>
    PDL_TYPES_INLINE_ void call(const Op &op, int, int i, Result &result, V... values) const
    {
        result.put(i, pdl_computed_(op(values...)));
    }
    template <typename Op, typename Result, typename... V>
    PDL_TYPES_INLINE_ void call_at(const Op &op, long long, Result &result, V... values) const
    {
        result.put(0, pdl_computed_(op(values...)));
    }
};

template <int Width, int Unroll, typename T, typename... Rest>
struct pdl_inputs_<Width, Unroll, T, Rest...> {
    pdl_input_<Width, T> own;
    typename pdl_input_<Width, T>::words loaded[Unroll];
    pdl_inputs_<Width, Unroll, Rest...> rest;

    template <typename... R>
    PDL_TYPES_INLINE_ pdl_inputs_(long long row, long long head, long long count,
                                  const pdl_rows<const T> &mine, const R &...others)
        : own(mine.data + row * mine.stride, head, count), rest(row, head, count, others...)
    {
    }
    PDL_TYPES_INLINE_ void load(long long vector, unsigned step, long long vectors)
    {
        own.load(loaded, vector, step, vectors);
        rest.load(vector, step, vectors);
    }
    template <typename Op, typename Result, typename... V>
    PDL_TYPES_INLINE_ void call(const Op &op, int u, int i, Result &result, V... values) const
    {
        rest.call(op, u, i, result, values..., pdl_storage<T>::load(loaded[u].template get<T>(i)));
    }
    template <typename Op, typename Result, typename... V>
    PDL_TYPES_INLINE_ void call_at(const Op &op, long long i, Result &result, V... values) const
    {
        rest.call_at(op, i, result, values..., pdl_storage<T>::load(own.element(i)));
    }
};

/* ------------------------------------------------------------------------------------------------
 * The kernel's body
 * ---------------------------------------------------------------------------------------------- */

/** What becomes of the results of pdl_vector_map(). */
enum pdl_vector_mode {
    PDL_VECTOR_WRITE = 0, /**< They are written. */
    PDL_VECTOR_ADD = 1    /**< They are added to what is there, as pdl_add() does. */
};

/** @cond */
/* Results of one vector, written over or added to what was there before. */
template <int Width, typename T, int Mode> struct pdl_results_ {
    typedef pdl_words_<Width *static_cast<int>(sizeof(T))> words_type;
    words_type words;

    template <typename C> PDL_TYPES_INLINE_ void put(int i, C value)
    {
        words.set(i, pdl_storage<T>::store(value));
    }
};
template <int Width, typename T> struct pdl_results_<Width, T, PDL_VECTOR_ADD> {
    typedef pdl_words_<Width *static_cast<int>(sizeof(T))> words_type;
    words_type words, old;

    template <typename C> PDL_TYPES_INLINE_ void put(int i, C value)
    {
        words.set(i, pdl_add(old.template get<T>(i), value));
    }
};
/** @endcond */

template <int Piece, typename Results>
PDL_TYPES_INLINE_ void pdl_load_old_(Results &, unsigned long long)
{
}
template <int Piece, int Width, typename T>
PDL_TYPES_INLINE_ void pdl_load_old_(pdl_results_<Width, T, PDL_VECTOR_ADD> &results,
                                     unsigned long long at)
{
    results.old.template load<Piece>(at);
}

/* clang has no blockIdx and friends without CUDA's headers. */
#define PDL_VECTOR_SPECIAL_(name, reg)                                                             \
    PDL_TYPES_INLINE_ unsigned pdl_##name##_()                                                     \
    {                                                                                              \
        unsigned value;                                                                            \
        asm("mov.u32 %0, %%" reg ";" : "=r"(value));                                               \
        return value;                                                                              \
    }
PDL_VECTOR_SPECIAL_(thread_x, "tid.x")
PDL_VECTOR_SPECIAL_(thread_y, "tid.y")
PDL_VECTOR_SPECIAL_(threads_x, "ntid.x")
PDL_VECTOR_SPECIAL_(threads_y, "ntid.y")
PDL_VECTOR_SPECIAL_(block_x, "ctaid.x")
PDL_VECTOR_SPECIAL_(block_y, "ctaid.y")
PDL_VECTOR_SPECIAL_(blocks_x, "nctaid.x")
PDL_VECTOR_SPECIAL_(blocks_y, "nctaid.y")
#undef PDL_VECTOR_SPECIAL_

/* One row: vectors from the first element at which the output is aligned on, and the elements before
 * and after them one by one, by the first block. */
template <int Width, int Unroll, int Mode, typename Op, typename Out, typename... In>
PDL_TYPES_INLINE_ void pdl_vector_row_(long long row, long long count, const Op &op,
                                       const pdl_rows<Out> &out, const pdl_rows<const In> &...in)
{
    const int size = static_cast<int>(sizeof(Out));
    const int bytes = Width * size;
    const int piece = pdl_piece_<bytes>::value;

    const unsigned long long begin = pdl_global_(out.data + row * out.stride);
    const long long unaligned = static_cast<long long>((0ull - begin & (piece - 1ull)) / size);
    const long long head = unaligned < count ? unaligned : count;
    const long long vectors = (count - head) / Width;
    const unsigned long long first = begin + head * size;
    pdl_inputs_<Width, Unroll, In...> from(row, head, count, in...);

    const unsigned threads = pdl_threads_x_();
    const long long block = static_cast<long long>(threads) * Unroll;
    const long long all = block * pdl_blocks_x_();
    for (long long at = pdl_block_x_() * block + pdl_thread_x_(); at < vectors; at += all) {
        pdl_results_<Width, Out, Mode> results[Unroll];
        from.load(at, threads, vectors);
#pragma unroll
        for (int u = 0; u < Unroll; u++) {
            const long long vector = at + static_cast<long long>(u) * threads;
            if (vector < vectors) {
                pdl_load_old_<piece>(results[u], first + vector * bytes);
            }
        }
#pragma unroll
        for (int u = 0; u < Unroll; u++) {
            const long long vector = at + static_cast<long long>(u) * threads;
            if (vector < vectors) {
#pragma unroll
                for (int i = 0; i < Width; i++) {
                    from.call(op, u, i, results[u]);
                }
                results[u].words.template store<piece>(first + vector * bytes);
            }
        }
    }

    const long long single = count - vectors * Width;
    if (pdl_block_x_() == 0) {
        for (long long i = pdl_thread_x_(); i < single; i += threads) {
            const long long at = i < head ? i : i + vectors * Width;
            pdl_results_<1, Out, Mode> result;
            pdl_load_old_<size>(result, begin + at * size);
            from.call_at(op, at, result);
            result.words.template store<size>(begin + at * size);
        }
    }
}

/** An array that is read, in rows that begin `stride` elements apart; see pdl_vector_map(). */
template <typename T>
PDL_TYPES_INLINE_ pdl_rows<const T> pdl_vector_in(const T *data, long long stride = 0)
{
    const pdl_rows<const T> rows = {data, stride};
    return rows;
}

/** An array that is written; see pdl_vector_in(). */
template <typename T> PDL_TYPES_INLINE_ pdl_rows<T> pdl_vector_out(T *data, long long stride = 0)
{
    const pdl_rows<T> rows = {data, stride};
    return rows;
}

/**
 * `out = op(in...)` for each element of `rows` rows of `columns`: the body of a kernel, executed by all
 * of its threads, after PDL_WAIT().
 *
 * `op` gets a value of each input as pdl_storage computes with it and returns any arithmetic type,
 * which is converted to the output's. Right for every pointer that is aligned to its elements' size,
 * every stride and every grid of blocks of one or two dimensions; pdl_vector_plan_make() (pdl/vector.h)
 * knows which are fast. `Width` elements are a vector, a power of two of 1 to 32 of them: loads and
 * stores are of up to 16 bytes, or 32 from compute capability 10.0 on. Each thread loads `Unroll`
 * vectors before it computes. Stores are aligned; an input that is not aligned as the output is is
 * loaded in aligned pieces and shifted into place. The output may be an input whose elements have the
 * same size; otherwise they must not overlap.
 */
template <int Width, int Unroll, int Mode, typename Op, typename Out, typename... In>
PDL_TYPES_INLINE_ void pdl_vector_map(long long rows, long long columns, Op op, pdl_rows<Out> out,
                                      pdl_rows<const In>... in)
{
    static_assert(Width >= 1 && Width <= 32 && (Width & (Width - 1)) == 0,
                  "the width is a power of two from 1 to 32");
    static_assert(Mode == PDL_VECTOR_WRITE || Mode == PDL_VECTOR_ADD, "a pdl_vector_mode");
    const long long threads = pdl_threads_y_();
    const long long step = threads * pdl_blocks_y_();
    for (long long row = threads * pdl_block_y_() + pdl_thread_y_(); row < rows; row += step) {
        pdl_vector_row_<Width, Unroll, Mode>(row, columns, op, out, in...);
    }
}

#endif /* a CUDA compiler */

#endif /* PDL_VECTOR_CUH */
