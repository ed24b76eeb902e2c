/* The work-item and mathematical functions of OpenCL C, for a clang without a library for this target. */
#ifndef ISAKIT_OPENCL_H
#define ISAKIT_OPENCL_H

#define __ISAKIT_CL static inline __attribute__((overloadable, always_inline))
#define __ISAKIT_PICK(d, R) \
    ((d) == 0 ? __nvvm_read_ptx_sreg_##R##_x() : (d) == 1 ? __nvvm_read_ptx_sreg_##R##_y() : __nvvm_read_ptx_sreg_##R##_z())

__ISAKIT_CL uint get_work_dim(void) { return 3; }
__ISAKIT_CL size_t get_local_id(uint d) { return d > 2 ? 0 : __ISAKIT_PICK(d, tid); }
__ISAKIT_CL size_t get_local_size(uint d) { return d > 2 ? 1 : __ISAKIT_PICK(d, ntid); }
__ISAKIT_CL size_t get_group_id(uint d) { return d > 2 ? 0 : __ISAKIT_PICK(d, ctaid); }
__ISAKIT_CL size_t get_num_groups(uint d) { return d > 2 ? 1 : __ISAKIT_PICK(d, nctaid); }
__ISAKIT_CL size_t get_global_id(uint d) { return (uint)get_group_id(d) * (uint)get_local_size(d) + (uint)get_local_id(d); }
__ISAKIT_CL size_t get_global_size(uint d) { return (uint)get_num_groups(d) * (uint)get_local_size(d); }
__ISAKIT_CL size_t get_global_offset(uint d) { return 0; }

#ifndef CLK_LOCAL_MEM_FENCE
#define CLK_LOCAL_MEM_FENCE 1
#define CLK_GLOBAL_MEM_FENCE 2
#endif
__ISAKIT_CL void barrier(uint flags) { __nvvm_bar_sync(0); }
__ISAKIT_CL void mem_fence(uint flags) { __nvvm_membar_cta(); }

__ISAKIT_CL int min(int a, int b) { return a < b ? a : b; }
__ISAKIT_CL int max(int a, int b) { return a > b ? a : b; }
__ISAKIT_CL uint min(uint a, uint b) { return a < b ? a : b; }
__ISAKIT_CL uint max(uint a, uint b) { return a > b ? a : b; }
__ISAKIT_CL uint abs(int a) { return a < 0 ? -a : a; }
__ISAKIT_CL float fmin(float a, float b) { return __builtin_fminf(a, b); }
__ISAKIT_CL float fmax(float a, float b) { return __builtin_fmaxf(a, b); }
__ISAKIT_CL float fabs(float x) { return __builtin_fabsf(x); }
__ISAKIT_CL float floor(float x) { return __builtin_floorf(x); }
__ISAKIT_CL float ceil(float x) { return __builtin_ceilf(x); }
__ISAKIT_CL float sqrt(float x) { return __nvvm_sqrt_rn_f(x); }
__ISAKIT_CL float rsqrt(float x) { return __nvvm_rsqrt_approx_f(x); }
__ISAKIT_CL float native_sin(float x) { return __nvvm_sin_approx_f(x); }
__ISAKIT_CL float native_cos(float x) { return __nvvm_cos_approx_f(x); }
__ISAKIT_CL float native_exp2(float x) { return __nvvm_ex2_approx_f(x); }
__ISAKIT_CL float native_log2(float x) { return __nvvm_lg2_approx_f(x); }
__ISAKIT_CL float native_divide(float a, float b) { return __nvvm_div_approx_f(a, b); }
__ISAKIT_CL float native_sqrt(float x) { return __nvvm_sqrt_approx_f(x); }
__ISAKIT_CL float native_recip(float x) { return __nvvm_div_approx_f(1.0f, x); }
__ISAKIT_CL float mad(float a, float b, float c) { return a * b + c; }
__ISAKIT_CL int mad24(int a, int b, int c) { return __nvvm_mul24_i(a, b) + c; }
__ISAKIT_CL int mul24(int a, int b) { return __nvvm_mul24_i(a, b); }
__ISAKIT_CL uint mul24(uint a, uint b) { return __nvvm_mul24_ui(a, b); }

#endif
