/* SPDX-License-Identifier: MIT */
/* Libraries that a compiler may be taken for, one for each STAND_IN_... */

#if defined(STAND_IN_NOTHING) || defined(STAND_IN_BUILTINS) || defined(STAND_IN_UNNAMED)
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

#elif defined(STAND_IN_WHOLE)
/* A 12.77 that has everything and does nothing. */
#define STUB(name)                                                                                 \
    int name(void);                                                                                \
    int name(void)                                                                                 \
    {                                                                                              \
        return 0;                                                                                  \
    }
STUB(nvrtcCreateProgram)
STUB(nvrtcDestroyProgram)
STUB(nvrtcCompileProgram)
STUB(nvrtcAddNameExpression)
STUB(nvrtcGetLoweredName)
STUB(nvrtcGetProgramLogSize)
STUB(nvrtcGetProgramLog)
STUB(nvrtcGetPTXSize)
STUB(nvrtcGetPTX)
STUB(nvrtcGetCUBINSize)
STUB(nvrtcGetCUBIN)
STUB(nvrtcGetLTOIRSize)
STUB(nvrtcGetLTOIR)
STUB(nvrtcGetErrorString)
int nvrtcVersion(int *major, int *minor);
int nvrtcVersion(int *major, int *minor)
{
    *major = 12;
    *minor = 77;
    return 0;
}
int nvrtcGetNumSupportedArchs(int *count);
int nvrtcGetNumSupportedArchs(int *count)
{
    *count = 1;
    return 0;
}
int nvrtcGetSupportedArchs(int *archs);
int nvrtcGetSupportedArchs(int *archs)
{
    *archs = 90;
    return 0;
}

#endif
