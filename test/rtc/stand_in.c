/* SPDX-License-Identifier: MIT */
/* Libraries that a compiler may be taken for, one for each STAND_IN_... */

#if defined(STAND_IN_NOTHING)
int pdl_stand_in(void);
int pdl_stand_in(void)
{
    return 0;
}

#elif defined(STAND_IN_OLD) || defined(STAND_IN_PARTIAL)
/* 11.8, or a 12.0 that has nothing but its version. */
int nvrtcVersion(int *major, int *minor);
int nvrtcVersion(int *major, int *minor)
{
#ifdef STAND_IN_OLD
    *major = 11;
    *minor = 8;
#else
    *major = 12;
    *minor = 0;
#endif
    return 0;
}

#elif defined(STAND_IN_VERSIONED)
/* nvJitLink as of 12.4, without the plain names. */
#define VERSION(name, version, result)                                                             \
    int name##_12_##version(void);                                                                 \
    int name##_12_##version(void)                                                                  \
    {                                                                                              \
        return result;                                                                             \
    }
VERSION(__nvJitLinkCreate, 0, 120)
VERSION(__nvJitLinkCreate, 4, 124)
VERSION(__nvJitLinkDestroy, 4, 0)
VERSION(__nvJitLinkAddData, 4, 0)
VERSION(__nvJitLinkComplete, 4, 0)
VERSION(__nvJitLinkGetLinkedCubinSize, 4, 0)
VERSION(__nvJitLinkGetLinkedCubin, 4, 0)
VERSION(__nvJitLinkGetErrorLogSize, 4, 0)
VERSION(__nvJitLinkGetErrorLog, 4, 0)
#endif
