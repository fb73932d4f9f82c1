---@meta sgl
-- sgl.d.lua: types of the public functions for language servers. Written by `make docs`; do not
-- edit. Point the workspace library of your editor at the folder of this file.

---@class sgl.Tensor
---@field shape integer[]
---@field dtype sgl.dtype
---@field ndim integer
---@operator add(sgl.Tensor|number): sgl.Tensor
---@operator sub(sgl.Tensor|number): sgl.Tensor
---@operator mul(sgl.Tensor|number): sgl.Tensor
---@operator div(sgl.Tensor|number): sgl.Tensor
---@operator idiv(sgl.Tensor|number): sgl.Tensor
---@operator mod(sgl.Tensor|number): sgl.Tensor
---@operator pow(sgl.Tensor|number): sgl.Tensor
---@operator unm: sgl.Tensor
---@operator len: integer
---@field [integer|table|sgl.Tensor] sgl.Tensor
local Tensor = {}

---@class sgl
---@field version string
---@field config sgl.config
local sgl = { Tensor = Tensor }

---@class sgl.config
---@field isa "auto"|"portable"|"avx2"|"avx512" instruction set of the CPU kernels; the results do not depend on it
---@field threads integer threads of the CPU backend; 0: as many as the process may use
---@field backend "cpu"|"null"|"cuda" where programs run; null checks and counts but computes nothing
---@field debug integer prints one stage more with each step: 1 times, 2 captured graph, 3 simplified, 4 fused, 5 plan, 6 kernels, 7 every step
---@field exact integer blocks of the sums that ranks share: the same bits on 1 rank and on as many as there are blocks; 0: off
---@field exact_over "data"|"all" which sums get blocks in exact mode: those over samples and norms, or all
---@field reshard integer 1: parameters that ranks share are gathered again for the backward pass, for less memory
---@field plan string how ranks share steps: ddp, fsdp, or axes with sizes, data=2,fsdp=2; empty: ddp
---@field verify integer check the graph after every pass
---@field fuse integer group nodes into kernels; 0: one kernel for each node
---@field cache_size_limit integer bytes of programs kept in memory, and as many on disk; the least recently used go first
---@field cache_dir string folder of programs on disk, ~/ is $HOME/; empty: sgl/ in $XDG_CACHE_HOME, or in ~/.cache
---@field cache_min_nodes integer graphs of fewer nodes are compiled without a look at the disk, which takes as long
---@field unpack_limit integer bytes that a gzipped file may unpack to: a small file can be packed to fill any memory; 0: any
---@field config string configuration file; empty: sgl.yaml or sgl.config.lua in the current folder, if there
---@field preset "none"|"dev"|"prod" a set of settings for developing or for production; what is said expressly in the same place wins
---@field enable string|table components that start and whose events are told, such as all,-disk: the backends, events of capture, compile and run, programs kept in memory (cache) and on disk
---@field event_rate integer events of each frequent kind (runs, steps, hits) told in a second at most; 0: none
---@field event_history integer how many events sgl.events() looks back on
---@field cuda_driver string file of the CUDA driver; empty: libcuda.so.1
---@field nvrtc_library string file of NVRTC, which compiles CUDA kernels; empty: the newest libnvrtc.so that is found
---@field nvtx_library string file of NVTX, by which a profiler sees each step's op and line; empty: none
---@field cuda_image "cubin"|"ptx" what the driver is given of a kernel: cubin, or ptx, which it compiles itself
---@field cuda_graphs integer CUDA graphs that a program keeps, one for each set of addresses; 0: every kernel is launched
---@field fail_alloc integer make the n-th allocation fail, for tests; 0: none

---@alias sgl.dtype "bool"|"u8"|"i32"|"i64"|"f16"|"bf16"|"f32"|"f64"

---Settings: read and assigned as fields, sgl.config.threads = 2.
---@class sgl.config
sgl.config = {}

---Sets all settings of a preset, 'dev' or 'prod'; without a name, says which one is on.
---@param name? string dev, prod
---@return string # string: the preset
function sgl.config.preset(name) end

---Where a setting's value came from: default, file, environment, flag, program, or a preset in one of them.
---@param name string of the setting
---@return string # string
function sgl.config.from(name) end

---The same elements in row-major order under another shape; one size may be -1.
---@param ... integer|table sizes, as arguments or one list
---@return sgl.Tensor
function Tensor:reshape(...) end
sgl.reshape = Tensor.reshape

Tensor.view = Tensor.reshape
sgl.view = sgl.reshape

---The same value under a handle of its own: writing to one leaves the other.
---@return sgl.Tensor
function Tensor:clone() end
sgl.clone = Tensor.clone

---Dims first to last made one.
---@param first? integer default 1
---@param last? integer default -1
---@return sgl.Tensor
function Tensor:flatten(first, last) end
sgl.flatten = Tensor.flatten

Tensor.ravel = Tensor.flatten
sgl.ravel = sgl.flatten

---One dim made several; one of the sizes may be -1.
---@param dim integer counts from 1, or from the end if negative
---@param sizes table of the parts, one of them may be -1
---@return sgl.Tensor
function Tensor:unflatten(dim, sizes) end
sgl.unflatten = Tensor.unflatten

---Dims in another order: dim i of the result is dim dims[i] of t.
---@param ... integer|table every dim once
---@return sgl.Tensor
function Tensor:permute(...) end
sgl.permute = Tensor.permute

---Two dims exchanged; the last two when none are given.
---@param a? integer default -2
---@param b? integer default -1
---@return sgl.Tensor
function Tensor:transpose(a, b) end
sgl.transpose = Tensor.transpose

Tensor.swapaxes = Tensor.transpose
sgl.swapaxes = sgl.transpose

Tensor.swapdims = Tensor.transpose
sgl.swapdims = sgl.transpose

---The transpose of a matrix; a vector stays as it is.
---@return sgl.Tensor
function Tensor:t() end
sgl.t = Tensor.t

---One dim moved to another place, the others keeping their order.
---@param from integer where it is
---@param to integer where it goes
---@return sgl.Tensor
function Tensor:movedim(from, to) end
sgl.movedim = Tensor.movedim

Tensor.moveaxis = Tensor.movedim
sgl.moveaxis = sgl.movedim

---Dims of size 1 repeated, new dims added in front.
---@param ... integer|table sizes, as arguments or one list
---@return sgl.Tensor
function Tensor:broadcast_to(...) end
sgl.broadcast_to = Tensor.broadcast_to

---As broadcast_to; -1 keeps a size.
---@param ... integer|table sizes, as arguments or one list
---@return sgl.Tensor
function Tensor:expand(...) end
sgl.expand = Tensor.expand

---Broadcast to the shape of another tensor.
---@param other sgl.Tensor the shape to take
---@return sgl.Tensor
function Tensor:expand_as(other) end
sgl.expand_as = Tensor.expand_as

---Dims of size 1 removed: all of them, or those named if their size is 1.
---@param dim? integer|table only these; default: every dim of size 1
---@return sgl.Tensor
function Tensor:squeeze(dim) end
sgl.squeeze = Tensor.squeeze

---A new dim of size 1 at a place.
---@param dim integer counts from 1, or from the end if negative
---@return sgl.Tensor
function Tensor:unsqueeze(dim) end
sgl.unsqueeze = Tensor.unsqueeze

Tensor.expand_dims = Tensor.unsqueeze
sgl.expand_dims = sgl.unsqueeze

---Order reversed along dims; all when none are given.
---@param ... integer|table to turn around
---@return sgl.Tensor
function Tensor:flip(...) end
sgl.flip = Tensor.flip

---Elements shifted along dims; what leaves at the end comes back in front. Without dims the flattened elements are shifted.
---@param shifts integer|table by how many places, for each dim
---@param dims? integer|table default: the elements in row order
---@return sgl.Tensor
function Tensor:roll(shifts, dims) end
sgl.roll = Tensor.roll

---The tensor repeated along each dim, counted from the last (`repeat` is a Lua word).
---@param ... integer|table for each dim, from the last
---@return sgl.Tensor
function Tensor:tile(...) end
sgl.tile = Tensor.tile

---The tensor repeated along each dim, counted from the last (`repeat` is a Lua word).
---@param ... integer|table for each dim, from the last
---@return sgl.Tensor
function Tensor:repeat_(...) end
sgl.repeat_ = Tensor.repeat_

---Each element along a dim repeated n times in place.
---@param n integer how often each comes
---@param dim? integer default: the flattened tensor
---@return sgl.Tensor
function Tensor:repeat_interleave(n, dim) end
sgl.repeat_interleave = Tensor.repeat_interleave

---The slice at one position of a dim, which disappears.
---@param dim integer counts from 1, or from the end if negative
---@param at integer from 1, or from the end
---@return sgl.Tensor # tensor, without the dim
function Tensor:select(dim, at) end
sgl.select = Tensor.select

---`length` elements of a dim from position `first`.
---@param dim integer counts from 1, or from the end if negative
---@param first integer from 1, or from the end
---@param length integer how many positions
---@return sgl.Tensor
function Tensor:narrow(dim, first, length) end
sgl.narrow = Tensor.narrow

---Parts along a dim: n equal ones, or ones of the sizes in a list.
---@param parts integer|table how many, or their sizes
---@param dim? integer default 1
---@return sgl.Tensor # tensor, …
---@return sgl.Tensor ...
function Tensor:split(parts, dim) end
sgl.split = Tensor.split

---At most n parts along a dim, of equal size but for a smaller last one.
---@param n integer how many parts
---@param dim? integer default 1
---@return sgl.Tensor # tensor, …
---@return sgl.Tensor ...
function Tensor:chunk(n, dim) end
sgl.chunk = Tensor.chunk

---The slices along a dim, without that dim.
---@param dim? integer default 1
---@return sgl.Tensor # tensor, …
---@return sgl.Tensor ...
function Tensor:unbind(dim) end
sgl.unbind = Tensor.unbind

---Sliding windows of `size` along a dim, `step` apart: a new last dim.
---@param dim integer counts from 1, or from the end if negative
---@param size integer of the window
---@param step? integer default 1
---@return sgl.Tensor
function Tensor:unfold(dim, size, step) end
sgl.unfold = Tensor.unfold

---Tensors joined along one dim.
---@param list table tensors
---@param dim? integer default 1
---@return sgl.Tensor
function sgl.cat(list, dim) end

Tensor.concat = Tensor.cat
sgl.concat = sgl.cat

Tensor.concatenate = Tensor.cat
sgl.concatenate = sgl.cat

---Tensors of one shape joined along a new dim.
---@param list table tensors
---@param dim? integer default 1
---@return sgl.Tensor
function sgl.stack(list, dim) end

---Tensors joined along dim 1, vectors being rows.
---@param list table tensors
---@return sgl.Tensor
function sgl.vstack(list) end

---Tensors joined along dim 2, vectors along their only one.
---@param list table tensors
---@return sgl.Tensor
function sgl.hstack(list) end

---The grid over vectors: result i holds the values of vector i along dim i.
---@param ... sgl.Tensor one for each dim of the result
---@return sgl.Tensor # tensor, …
---@return sgl.Tensor ...
function sgl.meshgrid(...) end

---Negation.
---@return sgl.Tensor
function Tensor:neg() end
sgl.neg = Tensor.neg

---x itself, through which no gradient flows.
---@return sgl.Tensor
function Tensor:detach() end
sgl.detach = Tensor.detach

---Absolute value; gradient 0 at 0.
---@return sgl.Tensor
function Tensor:abs() end
sgl.abs = Tensor.abs

----1, 0 or 1; 0 of NaN. Gradient 0.
---@return sgl.Tensor
function Tensor:sign() end
sgl.sign = Tensor.sign

---e to the power x.
---@return sgl.Tensor
function Tensor:exp() end
sgl.exp = Tensor.exp

---2 to the power x.
---@return sgl.Tensor
function Tensor:exp2() end
sgl.exp2 = Tensor.exp2

---exp(x) - 1, accurate near 0.
---@return sgl.Tensor
function Tensor:expm1() end
sgl.expm1 = Tensor.expm1

---Natural logarithm; NaN below 0, -inf at 0.
---@return sgl.Tensor
function Tensor:log() end
sgl.log = Tensor.log

---Logarithm to base 2.
---@return sgl.Tensor
function Tensor:log2() end
sgl.log2 = Tensor.log2

---log(1 + x), accurate near 0.
---@return sgl.Tensor
function Tensor:log1p() end
sgl.log1p = Tensor.log1p

---Square root; NaN below 0.
---@return sgl.Tensor
function Tensor:sqrt() end
sgl.sqrt = Tensor.sqrt

---1 / sqrt(x).
---@return sgl.Tensor
function Tensor:rsqrt() end
sgl.rsqrt = Tensor.rsqrt

---Sine of x in radians.
---@return sgl.Tensor
function Tensor:sin() end
sgl.sin = Tensor.sin

---Cosine of x in radians.
---@return sgl.Tensor
function Tensor:cos() end
sgl.cos = Tensor.cos

---Tangent of x in radians.
---@return sgl.Tensor
function Tensor:tan() end
sgl.tan = Tensor.tan

---Arc sine in radians; NaN outside [-1, 1].
---@return sgl.Tensor
function Tensor:asin() end
sgl.asin = Tensor.asin

---Arc cosine in radians; NaN outside [-1, 1].
---@return sgl.Tensor
function Tensor:acos() end
sgl.acos = Tensor.acos

---Arc tangent in radians.
---@return sgl.Tensor
function Tensor:atan() end
sgl.atan = Tensor.atan

---Hyperbolic sine.
---@return sgl.Tensor
function Tensor:sinh() end
sgl.sinh = Tensor.sinh

---Hyperbolic cosine.
---@return sgl.Tensor
function Tensor:cosh() end
sgl.cosh = Tensor.cosh

---Hyperbolic tangent.
---@return sgl.Tensor
function Tensor:tanh() end
sgl.tanh = Tensor.tanh

---Error function.
---@return sgl.Tensor
function Tensor:erf() end
sgl.erf = Tensor.erf

---1 / (1 + exp(-x)).
---@return sgl.Tensor
function Tensor:sigmoid() end
sgl.sigmoid = Tensor.sigmoid

---max(x, 0); gradient 0 at 0.
---@return sgl.Tensor
function Tensor:relu() end
sgl.relu = Tensor.relu

---Largest integer not above x. Gradient 0.
---@return sgl.Tensor
function Tensor:floor() end
sgl.floor = Tensor.floor

---Smallest integer not below x. Gradient 0.
---@return sgl.Tensor
function Tensor:ceil() end
sgl.ceil = Tensor.ceil

---Nearest integer, halves to even. Gradient 0.
---@return sgl.Tensor
function Tensor:round() end
sgl.round = Tensor.round

---True where x is not a number.
---@return sgl.Tensor
function Tensor:isnan() end
sgl.isnan = Tensor.isnan

---True where x is infinite.
---@return sgl.Tensor
function Tensor:isinf() end
sgl.isinf = Tensor.isinf

---True where x is neither infinite nor NaN.
---@return sgl.Tensor
function Tensor:isfinite() end
sgl.isfinite = Tensor.isfinite

---Sum.
---@param other sgl.Tensor|number|boolean of a shape that broadcasts
---@return sgl.Tensor
function Tensor:add(other) end
sgl.add = Tensor.add

---Difference.
---@param other sgl.Tensor|number|boolean of a shape that broadcasts
---@return sgl.Tensor
function Tensor:sub(other) end
sgl.sub = Tensor.sub

---Product.
---@param other sgl.Tensor|number|boolean of a shape that broadcasts
---@return sgl.Tensor
function Tensor:mul(other) end
sgl.mul = Tensor.mul

---Quotient; integers are converted to f32 first.
---@param other sgl.Tensor|number|boolean of a shape that broadcasts
---@return sgl.Tensor
function Tensor:div(other) end
sgl.div = Tensor.div

---Quotient rounded down, as Lua's //. Integer division by 0 gives 0.
---@param other sgl.Tensor|number|boolean of a shape that broadcasts
---@return sgl.Tensor
function Tensor:floordiv(other) end
sgl.floordiv = Tensor.floordiv

---Remainder with the sign of y, as Lua's %. Integer remainder by 0 gives 0.
---@param other sgl.Tensor|number|boolean of a shape that broadcasts
---@return sgl.Tensor
function Tensor:mod(other) end
sgl.mod = Tensor.mod

---x to the power y.
---@param other sgl.Tensor|number|boolean of a shape that broadcasts
---@return sgl.Tensor
function Tensor:pow(other) end
sgl.pow = Tensor.pow

---Smaller of the two; NaN if either is. Equal operands get half the gradient each.
---@param other sgl.Tensor|number|boolean of a shape that broadcasts
---@return sgl.Tensor
function Tensor:minimum(other) end
sgl.minimum = Tensor.minimum

---Larger of the two; NaN if either is. Equal operands get half the gradient each.
---@param other sgl.Tensor|number|boolean of a shape that broadcasts
---@return sgl.Tensor
function Tensor:maximum(other) end
sgl.maximum = Tensor.maximum

---log(exp(x) + exp(y)), without overflow.
---@param other sgl.Tensor|number|boolean of a shape that broadcasts
---@return sgl.Tensor
function Tensor:logaddexp(other) end
sgl.logaddexp = Tensor.logaddexp

---Angle of the point (y, x) in radians: the first argument is the ordinate. Gradient 0 at the origin.
---@param other sgl.Tensor|number|boolean of a shape that broadcasts
---@return sgl.Tensor
function Tensor:atan2(other) end
sgl.atan2 = Tensor.atan2

---True where equal; NaN equals nothing.
---@param other sgl.Tensor|number|boolean of a shape that broadcasts
---@return sgl.Tensor
function Tensor:eq(other) end
sgl.eq = Tensor.eq

---True where different.
---@param other sgl.Tensor|number|boolean of a shape that broadcasts
---@return sgl.Tensor
function Tensor:ne(other) end
sgl.ne = Tensor.ne

---True where x < y.
---@param other sgl.Tensor|number|boolean of a shape that broadcasts
---@return sgl.Tensor
function Tensor:lt(other) end
sgl.lt = Tensor.lt

---True where x <= y.
---@param other sgl.Tensor|number|boolean of a shape that broadcasts
---@return sgl.Tensor
function Tensor:le(other) end
sgl.le = Tensor.le

---True where x > y.
---@param other sgl.Tensor|number|boolean of a shape that broadcasts
---@return sgl.Tensor
function Tensor:gt(other) end
sgl.gt = Tensor.gt

---True where x >= y.
---@param other sgl.Tensor|number|boolean of a shape that broadcasts
---@return sgl.Tensor
function Tensor:ge(other) end
sgl.ge = Tensor.ge

---True where both are.
---@param other sgl.Tensor|number|boolean of a shape that broadcasts
---@return sgl.Tensor
function Tensor:logical_and(other) end
sgl.logical_and = Tensor.logical_and

---True where either is.
---@param other sgl.Tensor|number|boolean of a shape that broadcasts
---@return sgl.Tensor
function Tensor:logical_or(other) end
sgl.logical_or = Tensor.logical_or

---True where exactly one is.
---@param other sgl.Tensor|number|boolean of a shape that broadcasts
---@return sgl.Tensor
function Tensor:logical_xor(other) end
sgl.logical_xor = Tensor.logical_xor

---True where x is false.
---@return sgl.Tensor
function Tensor:logical_not() end
sgl.logical_not = Tensor.logical_not

---y where x is true, else z. Gradients are NaN-safe: nothing flows into the side not taken.
---@param a sgl.Tensor|number|boolean where cond is true
---@param b sgl.Tensor|number|boolean where it is false
---@return sgl.Tensor
function Tensor:where(a, b) end
sgl.where = Tensor.where

---Values below low raised to it, values above high lowered to it; NaN stays. At a bound that is a number the gradient is 0.
---@param low? number|sgl.Tensor default: no bound
---@param high? number|sgl.Tensor default: no bound
---@return sgl.Tensor
function Tensor:clamp(low, high) end
sgl.clamp = Tensor.clamp

Tensor.clip = Tensor.clamp
sgl.clip = sgl.clamp

---The remainder of t / other with the sign of t, as C has it; mod (%) has that of other.
---@param other number|sgl.Tensor of a shape that broadcasts
---@return sgl.Tensor
function Tensor:fmod(other) end
sgl.fmod = Tensor.fmod

---x * x.
---@return sgl.Tensor
function Tensor:square() end
sgl.square = Tensor.square

---1 / x.
---@return sgl.Tensor
function Tensor:reciprocal() end
sgl.reciprocal = Tensor.reciprocal

---The part before the point.
---@return sgl.Tensor
function Tensor:trunc() end
sgl.trunc = Tensor.trunc

---x - trunc(x).
---@return sgl.Tensor
function Tensor:frac() end
sgl.frac = Tensor.frac

---Logarithm to base 10.
---@return sgl.Tensor
function Tensor:log10() end
sgl.log10 = Tensor.log10

---NaN replaced by a value.
---@param value? number default 0
---@return sgl.Tensor
function Tensor:nan_to_num(value) end
sgl.nan_to_num = Tensor.nan_to_num

---t + weight * (other - t).
---@param other sgl.Tensor where weight is 1
---@param weight number|sgl.Tensor 0 gives t, 1 gives other
---@return sgl.Tensor
function Tensor:lerp(other, weight) end
sgl.lerp = Tensor.lerp

---x * sigmoid(x).
---@return sgl.Tensor
function Tensor:silu() end
sgl.silu = Tensor.silu

---@class sgl.gelu.Options
---@field approximate? string none: exact by erf; tanh: the older approximation (default "none")

---x times the normal distribution function of x.
---@param o? sgl.gelu.Options
---@return sgl.Tensor
function Tensor:gelu(o) end
sgl.gelu = Tensor.gelu

---@class sgl.softplus.Options
---@field beta? number sharpness (default 1)

---log(1 + exp(beta * x)) / beta.
---@param o? sgl.softplus.Options
---@return sgl.Tensor
function Tensor:softplus(o) end
sgl.softplus = Tensor.softplus

---log(sigmoid(x)), finite for every finite x.
---@return sgl.Tensor
function Tensor:logsigmoid() end
sgl.logsigmoid = Tensor.logsigmoid

---x * tanh(softplus(x)).
---@return sgl.Tensor
function Tensor:mish() end
sgl.mish = Tensor.mish

---@class sgl.hardtanh.Options
---@field low? number the least (default -1)
---@field high? number the largest (default 1)

---x kept between low and high.
---@param o? sgl.hardtanh.Options
---@return sgl.Tensor
function Tensor:hardtanh(o) end
sgl.hardtanh = Tensor.hardtanh

---x kept between 0 and 6.
---@return sgl.Tensor
function Tensor:relu6() end
sgl.relu6 = Tensor.relu6

---@class sgl.leaky_relu.Options
---@field slope? number factor below 0 (default 0.01)

---x, or slope * x below 0.
---@param o? sgl.leaky_relu.Options
---@return sgl.Tensor
function Tensor:leaky_relu(o) end
sgl.leaky_relu = Tensor.leaky_relu

---@class sgl.elu.Options
---@field alpha? number how far below 0 it goes (default 1)

---x, or alpha * (exp(x) - 1) below 0.
---@param o? sgl.elu.Options
---@return sgl.Tensor
function Tensor:elu(o) end
sgl.elu = Tensor.elu

---x / (1 + |x|).
---@return sgl.Tensor
function Tensor:softsign() end
sgl.softsign = Tensor.softsign

---@class sgl.isclose.Options
---@field rtol? number share of |other| allowed (default 1e-05)
---@field atol? number difference allowed (default 1e-08)
---@field equal_nan? boolean NaN equals NaN (default false)

---True where |t - other| <= atol + rtol * |other|.
---@param other sgl.Tensor what is expected
---@param o? sgl.isclose.Options
---@return sgl.Tensor # tensor, bool
function Tensor:isclose(other, o) end
sgl.isclose = Tensor.isclose

---@class sgl.allclose.Options
---@field rtol? number share of |other| allowed (default 1e-05)
---@field atol? number difference allowed (default 1e-08)
---@field equal_nan? boolean NaN equals NaN (default false)

---Whether all elements are close (a Lua boolean). Not inside sgl.compile.
---@param other sgl.Tensor what is expected
---@param o? sgl.allclose.Options
---@return boolean # boolean
function Tensor:allclose(other, o) end
sgl.allclose = Tensor.allclose

---Whether shapes and all elements are equal (a Lua boolean). Not inside sgl.compile.
---@param other sgl.Tensor of any shape
---@return boolean # boolean
function Tensor:equal(other) end
sgl.equal = Tensor.equal

---Number of elements.
---@return integer # integer
function Tensor:numel() end
sgl.numel = Tensor.numel

---Number of dims.
---@return integer # integer
function Tensor:dim() end
sgl.dim = Tensor.dim

---The sizes as a list, or one of them.
---@param dim? integer default: all
---@return integer[]|integer # list or integer
function Tensor:size(dim) end
sgl.size = Tensor.size

---Whether the dtype is a float.
---@return boolean # boolean
function Tensor:is_floating_point() end
sgl.is_floating_point = Tensor.is_floating_point

---Not there: gradients are values here (see sgl.grad).
function Tensor:backward() end
sgl.backward = Tensor.backward

---@class sgl.tensor.Options
---@field dtype? string element type

---A tensor from a number, a boolean, nested lists or another tensor. Without a dtype, whole numbers give i32, others f32, booleans bool.
---@param value sgl.Tensor|number|boolean|table the values, row by row
---@param dtype? string element type
---@param o? sgl.tensor.Options
---@return sgl.Tensor
function sgl.tensor(value, dtype, o) end

---@class sgl.zeros.Options
---@field dtype? string element type (default "f32")

---Zeros.
---@param ... integer|table sizes, as arguments or one list
---@return sgl.Tensor
function sgl.zeros(...) end

---@class sgl.zeros_like.Options
---@field dtype? string element type; default that of t

---Zeros. With the shape of t.
---@param o? sgl.zeros_like.Options
---@return sgl.Tensor
function Tensor:zeros_like(o) end
sgl.zeros_like = Tensor.zeros_like

---@class sgl.ones.Options
---@field dtype? string element type (default "f32")

---Ones.
---@param ... integer|table sizes, as arguments or one list
---@return sgl.Tensor
function sgl.ones(...) end

---@class sgl.ones_like.Options
---@field dtype? string element type; default that of t

---Ones. With the shape of t.
---@param o? sgl.ones_like.Options
---@return sgl.Tensor
function Tensor:ones_like(o) end
sgl.ones_like = Tensor.ones_like

Tensor.empty = Tensor.zeros
sgl.empty = sgl.zeros

Tensor.empty_like = Tensor.zeros_like
sgl.empty_like = sgl.zeros_like

---@class sgl.full.Options
---@field dtype? string element type; default f32, bool for a boolean

---One value everywhere.
---@param size integer|table a size or a list
---@param value number|boolean of each element
---@param o? sgl.full.Options
---@return sgl.Tensor
function sgl.full(size, value, o) end

---@class sgl.full_like.Options
---@field dtype? string element type; default that of t

---One value everywhere, with the shape of t.
---@param value number|boolean of each element
---@param o? sgl.full_like.Options
---@return sgl.Tensor
function Tensor:full_like(value, o) end
sgl.full_like = Tensor.full_like

---@class sgl.arange.Options
---@field dtype? string default i32 for whole numbers, else f32

---Numbers from start, below stop, by step. arange(n) counts from 0.
---@param start number the first; with nothing behind it, the stop
---@param stop? number not reached
---@param step? number default 1
---@param o? sgl.arange.Options
---@return sgl.Tensor # tensor [n]
function sgl.arange(start, stop, step, o) end

---@class sgl.linspace.Options
---@field dtype? string element type (default "f32")

---n numbers spread evenly from start to stop, both included.
---@param start number the first
---@param stop number the last
---@param n integer how many
---@param o? sgl.linspace.Options
---@return sgl.Tensor # tensor [n]
function sgl.linspace(start, stop, n, o) end

---@class sgl.logspace.Options
---@field base? number above 0 (default 10)
---@field dtype? string element type (default "f32")

---n numbers from base ^ start to base ^ stop, both included, each the same multiple of the one before.
---@param start number the first exponent
---@param stop number the last
---@param n integer how many
---@param o? sgl.logspace.Options
---@return sgl.Tensor # tensor [n]
function sgl.logspace(start, stop, n, o) end

---@class sgl.eye.Options
---@field dtype? string element type (default "f32")

---Ones on the main diagonal, zeros elsewhere.
---@param n integer rows
---@param m? integer columns; default n
---@param o? sgl.eye.Options
---@return sgl.Tensor # tensor [n, m]
function sgl.eye(n, m, o) end

---@class sgl.one_hot.Options
---@field dtype? string element type (default "f32")

---A row of n values for each index: 1 at the index, 0 elsewhere.
---@param n integer number of classes
---@param o? sgl.one_hot.Options
---@return sgl.Tensor # tensor [..., n]
function Tensor:one_hot(n, o) end
sgl.one_hot = Tensor.one_hot

---@class sgl.rand.Options
---@field dtype? string element type (default "f32")

---Uniform random numbers in [0, 1).
---@param ... integer|table sizes, as arguments or one list
---@return sgl.Tensor
function sgl.rand(...) end

---@class sgl.rand_like.Options
---@field dtype? string element type; default that of t

---Uniform random numbers in [0, 1). With the shape of t.
---@param o? sgl.rand_like.Options
---@return sgl.Tensor
function Tensor:rand_like(o) end
sgl.rand_like = Tensor.rand_like

---@class sgl.randn.Options
---@field dtype? string element type (default "f32")

---Normal random numbers, mean 0, variance 1.
---@param ... integer|table sizes, as arguments or one list
---@return sgl.Tensor
function sgl.randn(...) end

---@class sgl.randn_like.Options
---@field dtype? string element type; default that of t

---Normal random numbers, mean 0, variance 1. With the shape of t.
---@param o? sgl.randn_like.Options
---@return sgl.Tensor
function Tensor:randn_like(o) end
sgl.randn_like = Tensor.randn_like

---@class sgl.randint.Options
---@field dtype? string element type (default "i32")

---Random integers in [low, high). randint(high, size) counts from 0.
---@param low integer the least; with nothing behind it, the bound, from 0
---@param high integer|table exclusive
---@param size? integer|table a size or a list
---@param o? sgl.randint.Options
---@return sgl.Tensor
function sgl.randint(low, high, size, o) end

---@class sgl.randperm.Options
---@field dtype? string element type (default "i32")

---The numbers 0 to n - 1 in random order.
---@param n integer how many
---@param o? sgl.randperm.Options
---@return sgl.Tensor # tensor [n]
function sgl.randperm(n, o) end

---@class sgl.bernoulli.Options
---@field dtype? string default that of t, f32 for a number

---1 with the probability that t gives for each element, else 0.
---@param size? integer|table shape, when t is a number
---@param o? sgl.bernoulli.Options
---@return sgl.Tensor
function Tensor:bernoulli(size, o) end
sgl.bernoulli = Tensor.bernoulli

---The values in another element type: f32, f64, f16, bf16, i32, i64, u8 or bool. To integers truncates and saturates.
---@param dtype string bool, u8, i32, i64, f16, bf16, f32 or f64
---@return sgl.Tensor
function Tensor:to(dtype) end
sgl.to = Tensor.to

---Short for t:to("f32").
---@return sgl.Tensor
function Tensor:float() end
sgl.float = Tensor.float

---Short for t:to("f64").
---@return sgl.Tensor
function Tensor:double() end
sgl.double = Tensor.double

---Short for t:to("f16").
---@return sgl.Tensor
function Tensor:half() end
sgl.half = Tensor.half

---Short for t:to("bf16").
---@return sgl.Tensor
function Tensor:bfloat16() end
sgl.bfloat16 = Tensor.bfloat16

---Short for t:to("i32").
---@return sgl.Tensor
function Tensor:int() end
sgl.int = Tensor.int

---Short for t:to("i64").
---@return sgl.Tensor
function Tensor:long() end
sgl.long = Tensor.long

---Short for t:to("u8").
---@return sgl.Tensor
function Tensor:byte() end
sgl.byte = Tensor.byte

---Short for t:to("bool").
---@return sgl.Tensor
function Tensor:bool() end
sgl.bool = Tensor.bool

---The values in the element type of another tensor.
---@param other sgl.Tensor the dtype to take
---@return sgl.Tensor
function Tensor:type_as(other) end
sgl.type_as = Tensor.type_as

---Slices along a dim at the positions of an index, which may have any rank.
---@param dim integer counts from 1, or from the end if negative
---@param index sgl.Tensor integers from 0
---@return sgl.Tensor
function Tensor:index_select(dim, index) end
sgl.index_select = Tensor.index_select

---Elements at positions of the flattened tensor.
---@param index sgl.Tensor integers from 0
---@return sgl.Tensor # tensor of the shape of index
function Tensor:take(index) end
sgl.take = Tensor.take

---The element at position index[…] of a dim for each element of the index.
---@param dim integer counts from 1, or from the end if negative
---@param index sgl.Tensor integers from 0
---@return sgl.Tensor # tensor of the shape of index
function Tensor:gather(dim, index) end
sgl.gather = Tensor.gather

---The element at position index[…] of a dim for each element of the index.
---@param dim integer counts from 1, or from the end if negative
---@param index sgl.Tensor integers from 0
---@return sgl.Tensor # tensor of the shape of index
function Tensor:take_along_dim(dim, index) end
sgl.take_along_dim = Tensor.take_along_dim

---t with src[…] added at position index[…] of a dim, for each element of the index.
---@param dim integer counts from 1, or from the end if negative
---@param index sgl.Tensor integers from 0
---@param src sgl.Tensor what is added, of the shape of index
---@return sgl.Tensor
function Tensor:scatter_add(dim, index, src) end
sgl.scatter_add = Tensor.scatter_add

---t with the slices of src added at the positions of an index along a dim.
---@param dim integer counts from 1, or from the end if negative
---@param index sgl.Tensor integers from 0
---@param src sgl.Tensor what is added, a slice for each index
---@return sgl.Tensor
function Tensor:index_add(dim, index, src) end
sgl.index_add = Tensor.index_add

---How often each of 0 to n - 1 stands in the tensor.
---@param n integer how many counts: above the largest
---@return sgl.Tensor # tensor i32 [n]
function Tensor:bincount(n) end
sgl.bincount = Tensor.bincount

---t with a value where the mask is true.
---@param mask sgl.Tensor bool, broadcast to t
---@param value number|sgl.Tensor|boolean put where the mask is true
---@return sgl.Tensor
function Tensor:masked_fill(mask, value) end
sgl.masked_fill = Tensor.masked_fill

---The elements where the mask is true, in order. Not inside sgl.compile.
---@param mask sgl.Tensor bool, broadcast to t
---@return sgl.Tensor # tensor [n]
function Tensor:masked_select(mask) end
sgl.masked_select = Tensor.masked_select

---The positions, from 0, of the elements that are not 0. Not inside sgl.compile.
---@return sgl.Tensor # tensor i32 [n, dims]
function Tensor:nonzero() end
sgl.nonzero = Tensor.nonzero

---@class sgl.sum.Options
---@field keepdim? boolean keep the reduced dims with size 1 (default false)

---Sum over dims. bool and u8 count as i32.
---@param dims? integer|table default: all
---@param o? sgl.sum.Options
---@return sgl.Tensor
function Tensor:sum(dims, o) end
sgl.sum = Tensor.sum

---@class sgl.prod.Options
---@field keepdim? boolean keep the reduced dims with size 1 (default false)

---Product over dims. bool and u8 count as i32.
---@param dims? integer|table default: all
---@param o? sgl.prod.Options
---@return sgl.Tensor
function Tensor:prod(dims, o) end
sgl.prod = Tensor.prod

---@class sgl.amax.Options
---@field keepdim? boolean keep the reduced dims with size 1 (default false)

---The largest over dims; NaN wins.
---@param dims? integer|table default: all
---@param o? sgl.amax.Options
---@return sgl.Tensor
function Tensor:amax(dims, o) end
sgl.amax = Tensor.amax

---@class sgl.amin.Options
---@field keepdim? boolean keep the reduced dims with size 1 (default false)

---The smallest over dims; NaN wins.
---@param dims? integer|table default: all
---@param o? sgl.amin.Options
---@return sgl.Tensor
function Tensor:amin(dims, o) end
sgl.amin = Tensor.amin

---@class sgl.argmax.Options
---@field keepdim? boolean keep the reduced dims with size 1 (default false)

---Index, from 0, of the largest along a dim, or in the flattened tensor.
---@param dim? integer default: all
---@param o? sgl.argmax.Options
---@return sgl.Tensor # tensor, i32
function Tensor:argmax(dim, o) end
sgl.argmax = Tensor.argmax

---@class sgl.argmin.Options
---@field keepdim? boolean keep the reduced dims with size 1 (default false)

---Index, from 0, of the smallest along a dim, or in the flattened tensor.
---@param dim? integer default: all
---@param o? sgl.argmin.Options
---@return sgl.Tensor # tensor, i32
function Tensor:argmin(dim, o) end
sgl.argmin = Tensor.argmin

---@class sgl.max.Options
---@field keepdim? boolean keep the reduced dims with size 1 (default false)

---The largest of all elements; with a dim, the largest along it and their indices from 0: of equals the first. Element by element it is maximum.
---@param dim? integer default: all
---@param o? sgl.max.Options
---@return sgl.Tensor # tensor, or values, indices
---@return sgl.Tensor?
function Tensor:max(dim, o) end
sgl.max = Tensor.max

---@class sgl.min.Options
---@field keepdim? boolean keep the reduced dims with size 1 (default false)

---The smallest of all elements; with a dim, the smallest along it and their indices from 0: of equals the first. Element by element it is minimum.
---@param dim? integer default: all
---@param o? sgl.min.Options
---@return sgl.Tensor # tensor, or values, indices
---@return sgl.Tensor?
function Tensor:min(dim, o) end
sgl.min = Tensor.min

---@class sgl.any.Options
---@field keepdim? boolean keep the reduced dims with size 1 (default false)

---Whether any element is not 0.
---@param dims? integer|table default: all
---@param o? sgl.any.Options
---@return sgl.Tensor # tensor, bool
function Tensor:any(dims, o) end
sgl.any = Tensor.any

---@class sgl.all.Options
---@field keepdim? boolean keep the reduced dims with size 1 (default false)

---Whether no element is 0.
---@param dims? integer|table default: all
---@param o? sgl.all.Options
---@return sgl.Tensor # tensor, bool
function Tensor:all(dims, o) end
sgl.all = Tensor.all

---How many elements are not 0.
---@param dims? integer|table default: all
---@return sgl.Tensor # tensor, i32
function Tensor:count_nonzero(dims) end
sgl.count_nonzero = Tensor.count_nonzero

---@class sgl.mean.Options
---@field keepdim? boolean keep the reduced dims with size 1 (default false)

---Mean over dims; integers give f32.
---@param dims? integer|table default: all
---@param o? sgl.mean.Options
---@return sgl.Tensor
function Tensor:mean(dims, o) end
sgl.mean = Tensor.mean

---@class sgl.var.Options
---@field correction? number taken off the number of elements (default 1)
---@field keepdim? boolean keep the reduced dims with size 1 (default false)

---Variance over dims, unbiased unless correction is 0.
---@param dims? integer|table default: all
---@param o? sgl.var.Options
---@return sgl.Tensor
function Tensor:var(dims, o) end
sgl.var = Tensor.var

---@class sgl.std.Options
---@field correction? number taken off the number of elements (default 1)
---@field keepdim? boolean keep the reduced dims with size 1 (default false)

---Standard deviation over dims, unbiased unless correction is 0.
---@param dims? integer|table default: all
---@param o? sgl.std.Options
---@return sgl.Tensor
function Tensor:std(dims, o) end
sgl.std = Tensor.std

---@class sgl.norm.Options
---@field keepdim? boolean keep the reduced dims with size 1 (default false)

---The p-norm over dims: 1, 2, any number, math.huge for the largest, 0 for the count.
---@param p? number default 2
---@param dims? integer|table default: all
---@param o? sgl.norm.Options
---@return sgl.Tensor
function Tensor:norm(p, dims, o) end
sgl.norm = Tensor.norm

---@class sgl.logsumexp.Options
---@field keepdim? boolean keep the reduced dims with size 1 (default false)

---log(sum(exp(x))) over dims without overflow; -inf where all are -inf.
---@param dims? integer|table default: all
---@param o? sgl.logsumexp.Options
---@return sgl.Tensor
function Tensor:logsumexp(dims, o) end
sgl.logsumexp = Tensor.logsumexp

---exp(x) / sum(exp(x)) along a dim.
---@param dim integer counts from 1, or from the end if negative
---@return sgl.Tensor
function Tensor:softmax(dim) end
sgl.softmax = Tensor.softmax

---log(softmax(x)) along a dim, accurate for small probabilities.
---@param dim integer counts from 1, or from the end if negative
---@return sgl.Tensor
function Tensor:log_softmax(dim) end
sgl.log_softmax = Tensor.log_softmax

---@class sgl.median.Options
---@field keepdim? boolean keep the reduced dims with size 1 (default false)

---The lower median of all elements, or along a dim with its indices from 0; NaN where there is one.
---@param dim? integer default: all
---@param o? sgl.median.Options
---@return sgl.Tensor # tensor, or values, indices
---@return sgl.Tensor?
function Tensor:median(dim, o) end
sgl.median = Tensor.median

---Matrix product. Vectors are taken as a row on the left and a column on the right, batch dims broadcast.
---@param other sgl.Tensor of a size that fits
---@return sgl.Tensor
function Tensor:matmul(other) end
sgl.matmul = Tensor.matmul

---Matrix times matrix.
---@param other sgl.Tensor of a size that fits
---@return sgl.Tensor
function Tensor:mm(other) end
sgl.mm = Tensor.mm

---Matrix times vector.
---@param other sgl.Tensor of a size that fits
---@return sgl.Tensor
function Tensor:mv(other) end
sgl.mv = Tensor.mv

---Inner product of two vectors.
---@param other sgl.Tensor of a size that fits
---@return sgl.Tensor
function Tensor:dot(other) end
sgl.dot = Tensor.dot

---Batch of matrices times batch of matrices.
---@param other sgl.Tensor of a size that fits
---@return sgl.Tensor
function Tensor:bmm(other) end
sgl.bmm = Tensor.bmm

---Every element of one vector times every element of another.
---@param other sgl.Tensor of a size that fits
---@return sgl.Tensor # tensor [n, m]
function Tensor:outer(other) end
sgl.outer = Tensor.outer

---Cross product of vectors of three components along a dim.
---@param other sgl.Tensor of a size that fits
---@param dim? integer default -1
---@return sgl.Tensor
function Tensor:cross(other, dim) end
sgl.cross = Tensor.cross

---Kronecker product: every element of t times all of the other tensor, in its place.
---@param other sgl.Tensor of any shape
---@return sgl.Tensor
function Tensor:kron(other) end
sgl.kron = Tensor.kron

---The lower triangle; 0 above the diagonal.
---@param diagonal? integer 0: the main one; above it positive
---@return sgl.Tensor
function Tensor:tril(diagonal) end
sgl.tril = Tensor.tril

---The upper triangle; 0 below the diagonal.
---@param diagonal? integer 0: the main one; above it positive
---@return sgl.Tensor
function Tensor:triu(diagonal) end
sgl.triu = Tensor.triu

---The diagonal of two dims, as the last dim.
---@param offset? integer above 0 upwards; default 0
---@param dim1? integer default 1
---@param dim2? integer default 2
---@return sgl.Tensor
function Tensor:diagonal(offset, dim1, dim2) end
sgl.diagonal = Tensor.diagonal

---The diagonal of a matrix, or the matrix with a vector on its diagonal.
---@param diagonal? integer 0: the main one; above it positive
---@return sgl.Tensor
function Tensor:diag(diagonal) end
sgl.diag = Tensor.diag

---Sum of the diagonal of a matrix.
---@return sgl.Tensor
function Tensor:trace() end
sgl.trace = Tensor.trace

---Sum of products by index names: 'ij,jk->ik' is the matrix product. Names that stand twice in one operand take its diagonal; '...' stands for further dims.
---@param equation string such as "ij,jk->ik"
---@param ... sgl.Tensor one for each part before the arrow
---@return sgl.Tensor
function sgl.einsum(equation, ...) end

---@class sgl.argsort.Options
---@field descending? boolean largest first (default false)

---Indices, from 0, that sort along a dim.
---@param dim? integer default -1
---@param o? sgl.argsort.Options
---@return sgl.Tensor # tensor, i32
function Tensor:argsort(dim, o) end
sgl.argsort = Tensor.argsort

---@class sgl.sort.Options
---@field descending? boolean largest first (default false)

---Values in order along a dim, and their indices from 0.
---@param dim? integer default -1
---@param o? sgl.sort.Options
---@return sgl.Tensor # values, indices
---@return sgl.Tensor
function Tensor:sort(dim, o) end
sgl.sort = Tensor.sort

---@class sgl.topk.Options
---@field largest? boolean false: the smallest (default true)

---The k largest along a dim, in order, and their indices from 0.
---@param k integer how many
---@param dim? integer default -1
---@param o? sgl.topk.Options
---@return sgl.Tensor # values, indices
---@return sgl.Tensor
function Tensor:topk(k, dim, o) end
sgl.topk = Tensor.topk

---@class sgl.quantile.Options
---@field keepdim? boolean keep the reduced dim with size 1 (default false)

---The value below which a share q of the elements lies, between two elements on the line that joins them; NaN where there is one.
---@param q number in [0, 1]
---@param dim? integer default: all
---@param o? sgl.quantile.Options
---@return sgl.Tensor
function Tensor:quantile(q, dim, o) end
sgl.quantile = Tensor.quantile

---@class sgl.cumsum.Options
---@field reverse? boolean from the last element to the first (default false)

---Running sum along a dim.
---@param dim integer counts from 1, or from the end if negative
---@param o? sgl.cumsum.Options
---@return sgl.Tensor
function Tensor:cumsum(dim, o) end
sgl.cumsum = Tensor.cumsum

---Each element less the one before it, along a dim.
---@param dim? integer default -1
---@return sgl.Tensor # tensor, one shorter
function Tensor:diff(dim) end
sgl.diff = Tensor.diff

---Running product along a dim.
---@param dim integer counts from 1, or from the end if negative
---@return sgl.Tensor
function Tensor:cumprod(dim) end
sgl.cumprod = Tensor.cumprod

---The largest so far along a dim; of equals the last has the gradient.
---@param dim integer counts from 1, or from the end if negative
---@return sgl.Tensor
function Tensor:cummax(dim) end
sgl.cummax = Tensor.cummax

---The smallest so far along a dim; of equals the last has the gradient.
---@param dim integer counts from 1, or from the end if negative
---@return sgl.Tensor
function Tensor:cummin(dim) end
sgl.cummin = Tensor.cummin

---@class sgl.pad.Options
---@field value? number for mode constant (default 0)
---@field mode? string constant, reflect, replicate or circular (default "constant")

---Elements added around: a list of two counts for each dim, the last dim first. Negative counts cut.
---@param counts table { before, behind, … } from the last dim
---@param o? sgl.pad.Options
---@return sgl.Tensor
function Tensor:pad(counts, o) end
sgl.pad = Tensor.pad

---@class sgl.dim.Options
---@field min? integer smallest size (default 1)
---@field max? integer largest size (default 16777216)
---@field multiple? integer every size is a multiple of it (default 1)

---A symbolic size for sgl.spec. Sums, products and quotients (//) of sizes are sizes; fields: name, min, max, multiple.
---@param name string an identifier, for messages
---@param o? sgl.dim.Options
---@return any # symbolic size
function sgl.dim(name, o) end

---The shape and dtype of an argument, some sizes symbolic. Fields: shape, dtype.
---@class sgl.Spec
sgl.Spec = {}

---What a tensor argument looks like: for sgl.compile's option `inputs`.
---@param shape table sizes: integers and dims
---@param dtype? string default f32
---@return any # Spec
function sgl.spec(shape, dtype) end

---What sgl.coverage returns: { name, steps, captures, breaks, segments, recaptures, captured_steps, captured_time, seconds }. It prints as a report.
---@class sgl.Coverage
sgl.Coverage = {}

---The records of the breaks as JSON lines.
---@return string # string
function sgl.Coverage:json() end

---Draws the way to each break with Graphviz into a file CODE-FILE-LINE.svg.
---@param folder? string default the working folder
---@return string? # the paths; or nil, message, code: without Graphviz the texts are kept, as .dot
---@return string? message
---@return string? code
function sgl.Coverage:picture(folder) end

---What a compiled function could be captured of, what keeps it from the rest, and the way to each break.
---@param fn any what sgl.compile returned
---@return any # Coverage
function sgl.coverage(fn) end

---What sgl.compile returns. Calling it runs the program for the arguments' signature.
---@class sgl.Compiled
---@operator call(...): any
sgl.Compiled = {}

---The graph of the program that ran last, or 'part': what this rank computes of it, on one rank in exact mode too; or its text after a stage: 'fused', 'plan', 'kernels', or 'c': a C file that computes the same.
---@param stage? string default 'captured': a Graph
---@return sgl.Graph|string # Graph or string
function sgl.Compiled:graph(stage) end

---Facts of the program that ran last: nodes, kernels, steps, dots, arena_bytes, compile_ms, passes, runs, signature, captures; with symbolic sizes also specialisations, bindings, bind_ms, guards, and refused: why a dim that varied could not be symbolic.
---@return table # table
function sgl.Compiled:info() end

---The tensors from outside that the program that ran last reads or updates: { name, tensor }; name is the path by which the step reached it, such as 'upvalue model.weight'.
---@return table # list
function sgl.Compiled:state() end

---The tensors from outside that the program that ran last reads or updates, by their names in its graph: those of the module, of the optimizer behind its own ('opt.m.1.weight'), of other tensors the place that leads to them. The list part holds the names in order; the tensors themselves, not copies. sgl.save(step, path) writes them.
---@return table # table: name -> tensor, and names from 1
function sgl.Compiled:state_dict() end

---@class sgl.Compiled.load_state_dict.Options
---@field strict? boolean names must be the same on both sides (default true)

---Copies values by name into the tensors from outside, as state_dict names them.
---@param dict table name -> tensor, as state_dict or sgl.load gives
---@param o? sgl.Compiled.load_state_dict.Options
---@return any # the compiled function
function sgl.Compiled:load_state_dict(dict, o) end

---Every capture so far: { signature, runs, program, reason, broken }; reason says what changed before it, broken is the record of the break that left it without a program.
---@return table # list
function sgl.Compiled:programs() end

---Frees the programs. The object cannot be called again.
function sgl.Compiled:close() end

---@class sgl.compile.Options
---@field name? string shown in messages; default the place of the definition
---@field fullgraph? boolean false: where the step breaks, it runs in segments (default true)
---@field strict? boolean each break is an error, whatever fullgraph says (default false)
---@field effects? string refuse, or once: writes to what was there, at capture (default "refuse")
---@field max_recaptures? integer more than that is an error that says what changed; with fullgraph = false such calls run as Lua (default 64)
---@field inputs? table a sgl.spec for each argument that has symbolic sizes
---@field dynamic? boolean true: a dim becomes symbolic at its second size, false: never; default after eight sizes
---@field batch? table the dim that counts samples, by the name of an argument

---Makes a function one program for each signature of its arguments. It is called once for each to record what it does, and again when a Lua value that it read has changed. Numbers in the arguments are run-time inputs, tensors from outside are state.
---@param fn function the step: tensors, numbers and tables of them in and out
---@param o? sgl.compile.Options
---@return sgl.Compiled # Compiled: call it as the function
function sgl.compile(fn, o) end

---Arranges the ranks of the job on named axes, sgl.mesh { data = 2, model = 2 }; -1 is as many as are left. Axes are in the order of their names, the last counting fastest. Samples lie over `data` and `fsdp`, state over `fsdp`; other names are for dist.place and, `model`, for dist.tensor_parallel. --plan on the command line goes first; one rank needs no mesh. Without axes, says what the mesh is.
---@param axes? table ranks by name
---@return any # a table: `axes`, their names in order, `size` and `at`, by name how many ranks there are and which of them this one is
function sgl.mesh(axes) end

---What sgl.on and sgl.on_graph_capture return. Fields: event, calls, errors, last_error. A <close> variable ends it.
---@class sgl.Listener
sgl.Listener = {}

---Ends the listening. Once it is off, nothing more happens.
function sgl.Listener:off() end

---The same as off.
function sgl.Listener:close() end

---Calls a function with a table { event, trace, time, … } each time something happens; docs/events.md lists what, with the fields. It is called between operations, never inside a step that is being recorded; what it does cannot break training.
---@param event string such as 'compile_end'
---@param fn function gets the table of the event
---@return any # Listener
function sgl.on(event, fn) end

---Calls a function with each graph that sgl.compile has recorded, before it is compiled, and with the list of the arguments that it was recorded from.
---@param fn function fn(graph, example_inputs)
---@return any # Listener
function sgl.on_graph_capture(fn) end

---The last events of the kinds that happen seldom, the oldest first; as many as the setting event_history says.
---@param event? string only of this kind
---@return table # list of tables { event, trace, time, … }
function sgl.events(event) end

---How often each event was told: { count, weight, ms } by its name. The weight counts what the sampler left out too, ms sums the durations. Events that nobody wants are not counted.
---@return table # table by name
function sgl.counters() end

---The state of each backend: uninitialized, registering, registered, capturing, compiled.
---@return table # table of states by name
function sgl.lifecycle() end

---Programs kept in memory and on disk.
---@class sgl.cache
sgl.cache = {}

---Figures of the cache: hits, misses, evictions, refaults (programs compiled again after they had been evicted), bytes, entries, limit; held (captured functions whose programs were evicted); lookup_us and compile_us with p50, p95 and p99 in microseconds of the last 1024 of each (of look-ups, one in eight is timed); advice on the limit, a sentence; and disk, the figures of the folder.
---@return table # table
function sgl.cache.stats() end

---@class sgl.cache.clear.Options
---@field disk? boolean remove those on disk too (default false)

---Frees all programs in memory. Functions that are still there compile at their next call.
---@param o? sgl.cache.clear.Options
function sgl.cache.clear(o) end

---Results of one of two functions, by a single bool. Inside sgl.compile both are recorded and the program runs the one that the value at that run asks for; gradients flow through it alone. Tensors from outside may be read and assigned in both.
---@param pred sgl.Tensor|boolean bool[]
---@param fn_a function called when true
---@param fn_b function called when false
---@param ... any given to either
---@return any # what the function returns: tensors, or tables of them
function sgl.cond(pred, fn_a, fn_b, ...) end

---@class sgl.scan.Options
---@field reverse? boolean from the last slice to the first (default false)

---Runs `carry, y = fn(carry, x)` for each slice x of xs along dim 1, from the carry `init`. Inside sgl.compile this is one node that runs one compiled body, however long xs is.
---@param fn function (carry, x) -> carry, y
---@param init? any the first carry: a tensor, a table of tensors, or nil
---@param xs sgl.Tensor|table|integer what is gone through; or how many steps, x is nil
---@param o? sgl.scan.Options
---@return any # the last carry; the ys, stacked along dim 1, those of slice i at i
function sgl.scan(fn, init, xs, o) end

---@class sgl.loop.Options
---@field max? integer most steps, needed

---Runs `state = body_fn(state)` while `cond_fn(state)` is true, at most max times. Inside sgl.compile this is one node; its gradient keeps the state of each of max steps.
---@param cond_fn function (state) -> a single bool
---@param body_fn function (state) -> state
---@param init any the first state: a tensor or a table of tensors
---@param o? sgl.loop.Options
---@return any # the last state; the number of steps, i32[]
function sgl.loop(cond_fn, body_fn, init, o) end

---Prints values, tensors as tostring shows them. Inside sgl.compile it prints at each run.
---@param ... any strings, numbers, tensors
function sgl.print(...) end

---Raises an error with the message when a condition is false: at each run, inside sgl.compile.
---@param cond sgl.Tensor|boolean bool; all elements must be true
---@param message? string default 'assertion failed'
---@return any # the condition
function sgl.assert(cond, message) end

---Calls an op that a library in C has registered, by its name: on tensors, and with a table of its attributes behind them. docs/custom-ops.md shows how one is written.
---@param name string such as "mylib.scale_rows"
---@param ... sgl.Tensor|table the inputs, then the attributes
---@return any # the results, one after the other
function sgl.custom(name, ...) end

---Registers the ops of a shared object that exports them by SGL_OPS of sgl.h.
---@param path string of the file, such as "./mylib.so"
---@return any # how many ops it brings
function sgl.load_ops(path) end

---A captured graph. tostring shows it; g:text() is the form that can be read back.
---@class sgl.Graph
sgl.Graph = {}

---The names of the nodes that read a node.
---@param name string as the short form shows it, such as "%2"
---@return string[] # list of names
function sgl.Graph:users(name) end

---The names along a shortest way from one node to another that depends on it.
---@param from string such as "x" or "%1"
---@param to string such as "%3"
---@return string[] # list of names, or nil when there is none
function sgl.Graph:path(from, to) end

---The graph in Graphviz's language.
---@return string # string
function sgl.Graph:dot() end

---Draws the graph with Graphviz into an SVG file.
---@param path? string default graph.svg
---@return string? # the path; or nil, message, code when Graphviz or the folder is missing
---@return string? message
---@return string? code
function sgl.Graph:picture(path) end

---@class sgl.save.Options
---@field metadata? table strings by name, kept in the file

---Writes tensors by name to a file, in the format that its ending names, else safetensors. A tensor with several names is written once. On several ranks all call it, and rank 0 writes.
---@param state table a state dict, a module, or tables of them
---@param path string of the file; it is replaced as a whole
---@param o? sgl.save.Options
---@return boolean? # true, or nil, message, code
---@return string? message
---@return string? code
function sgl.save(state, path, o) end

---@class sgl.load.Options
---@field prefix? string take only names that begin so, without it (default "")

---Reads a file of tensors (safetensors, or by its ending another format such as IDX) as a state dict: the names from 1, and name -> tensor. A tensor of another dtype (I8, U16, F8_E4M3, …) is listed, and refused when it is read.
---@param path string of the file
---@param o? sgl.load.Options
---@return table<string|integer, any>? # state dict, metadata; or nil, message, code
---@return table
---@return string? message
---@return string? code
function sgl.load(path, o) end

---@class sgl.export.Options
---@field file? string the bundle, a zip; a name that ends in / is a folder, one that ends in .onnx an ONNX file
---@field outputs? table ONNX: the names of the results
---@field external? boolean ONNX: values of state in a file beside it; by itself above 1 GB
---@field train? boolean a module: as it is in training (default false)
---@field name? string kept in the file
---@field about? table texts by name, kept in the file

---Writes a module, a function or a whole training step as a bundle: the captured graph and the values of its state, which sgl.import and the C function sgl_load run without the script; or a module or a function as an ONNX file. What was written is read back, run and compared before it is kept.
---@param what any a module (in evaluation mode), a function, a compiled function
---@param specs table for each argument a sgl.spec, or a tensor as an example
---@param o? sgl.export.Options
---@return boolean? # true; or nil, message, code, block: what cannot be captured or written, where and why (breaks.md)
---@return string? message
---@return string? code
function sgl.export(what, specs, o) end

---What sgl.import returns: called as the function was that was exported. Fields: kind ("function" or "step"), version, about.
---@class sgl.Imported
sgl.Imported = {}

---Reads a bundle that sgl.export wrote: a function of tensors with its state, to be called, compiled, and trained further; or, by the ending .onnx, a public model.
---@param path string of the file or folder
---@return any? # Imported or ImportedOnnx; or nil, message, code
---@return string? message
---@return string? code
function sgl.import(path) end

---The graph.
---@return sgl.Graph # Graph
function sgl.Imported:graph() end

---The state by name, and the names from 1; the tensors themselves, not copies.
---@return table # table
function sgl.Imported:state_dict() end

---@class sgl.Imported.load_state_dict.Options
---@field strict? boolean names must be the same on both sides (default true)

---Copies values by name into the state.
---@param dict table name -> tensor, as state_dict or sgl.load gives
---@param o? sgl.Imported.load_state_dict.Options
---@return any # the imported function
function sgl.Imported:load_state_dict(dict, o) end

---The state that was a parameter, for an optimizer that trains it further.
---@return table # list
function sgl.Imported:parameters() end

---@class sgl.rollout.Options
---@field script? string the path of the script
---@field arguments? table texts that it gets
---@field stages? table default { 'single', 'ddp:2', 'fsdp:2' }
---@field steps? integer training steps of each stage (default 20)
---@field exact? integer blocks of exact mode; 0: compare within rounding (default 8)
---@field timeout? number seconds that a rank waits for the others (default 30)
---@field limit? integer seconds that a stage may take (default 600)
---@field keep_going? boolean go on behind a stage that fails (default false)

---Runs a script in stages, from one rank to many, each in processes of its own, and compares graphs, data, state, losses, exported files and checkpoints. `sgl check` is the same. See rollout.md.
---@param o? sgl.rollout.Options
---@return any # Report: ok, lines, first_failure(), json(), junit(), html()
function sgl.rollout(o) end


---The value of a tensor of one element.
---@return number|boolean # number or boolean
function Tensor:item() end

---The values as nested lists; of a tensor without dims, the value.
---@return table|number|boolean # table, number or boolean
function Tensor:tolist() end

---The values as a string of little-endian bytes, row by row.
---@return string # string
function Tensor:bytes() end

---The text that tostring and print give: dtype, shape and values.
---@return string # string
function Tensor:show() end

---Computes the tensor now, in one program with all it needs.
---@return sgl.Tensor # tensor, the same
function Tensor:realize() end

---Gives the tensor a new value, without what it came out of: no gradient goes back through it. Tensors made from it before keep theirs. Inside sgl.compile this makes an update of the state, done at each run.
---@param value sgl.Tensor|number|boolean broadcast to the tensor's shape
---@return sgl.Tensor # tensor, the same
function Tensor:assign(value) end

---Frees the tensor's memory now; also done at the end of a <close> variable.
function Tensor:close() end

---The text form, from which the same graph can be read back.
---@return string # string
function sgl.Graph:text() end

---The short form for people, composites folded into one line; tostring too. Or, of the program it compiles to, a stage: 'fused', 'plan', 'kernels', or 'c': a C file.
---@param stage? string default: the short form
---@return string # string
function sgl.Graph:show(stage) end

---Every node, in an order in which inputs come first: { id, op, dtype, shape, inputs, attrs, file, line, composite }.
---@return table # list
function sgl.Graph:nodes() end

---The functions whose nodes are kept together under a name, such as softmax: { name, inputs, output, file, line }, the outer before the inner.
---@return table # list
function sgl.Graph:composites() end

---The input nodes, with their name.
---@return table # list
function sgl.Graph:inputs() end

---The output nodes, with their name.
---@return table # list
function sgl.Graph:outputs() end

---How many nodes have an op.
---@param op string such as "dot"
---@return integer # integer
function sgl.Graph:count(op) end

---The graphs that control nodes run; the attributes then, else and body of a node are positions in this list.
---@return table # list of Graph
function sgl.Graph:blocks() end

---A hash of all that changes what the graph computes: not of names and lines.
---@return string # string
function sgl.Graph:hash() end

---Checks every rule of the verifier.
---@return boolean # true
function sgl.Graph:verify() end

---The graph after the pipeline up to a pass: live, simplify, fuse, order or plan.
---@param name string the last that is run
---@return sgl.Graph # Graph
function sgl.Graph:pass(name) end

---The gradients of an output with respect to inputs, as a graph.
---@param output integer from 1
---@param inputs table positions from 1
---@return sgl.Graph # Graph
function sgl.Graph:grad(output, inputs) end

---The graph with sizes in place of its symbolic ones.
---@param sizes table name -> size
---@return sgl.Graph # Graph
function sgl.Graph:bind(sizes) end

---Values by the reference interpreter, in double precision.
---@param inputs table list of tensors
---@param nodes? table ids as g:nodes() gives; default: the outputs
---@return sgl.Tensor[] # list of tensors f64
function sgl.Graph:eval(inputs, nodes) end

---Compiles the graph and runs it once on the backend.
---@param inputs table list of tensors
---@return sgl.Tensor[] # list of tensors
function sgl.Graph:run(inputs) end

---Records the graph's operations on tensors, as if they were written here: also inside a step, with gradients.
---@param inputs table list of tensors
---@return table # list of the outputs; list of { number of an input, the value assigned to it }
function sgl.Graph:apply(inputs) end

---Frees the graph. The object cannot be used again.
function sgl.Graph:close() end

---Whether a value is a tensor.
---@param value? any of any type
---@return boolean # boolean
function sgl.is_tensor(value) end

---Starts the random numbers again: the same seed gives the same numbers.
---@param seed integer of all random numbers from here on
function sgl.seed(seed) end

---Computes tensors now, all in one program.
---@param ... sgl.Tensor to compute together
---@return sgl.Tensor # the tensors
---@return sgl.Tensor ...
function sgl.realize(...) end

---Bytes in use: { live, peak, count, blocks, tensors }.
---@return table # table
function sgl.memory() end

---Gradients of a loss with respect to tensors, as tensors: they can be used, combined and differentiated again.
---@param loss sgl.Tensor a single float
---@param wrt sgl.Tensor|table a tensor or a list of them
---@return sgl.Tensor|sgl.Tensor[] # a tensor for a tensor, a list in the order of a list
function sgl.grad(loss, wrt) end

---Modules, layers, losses and initialisers.
---@class sgl.nn
sgl.nn = {}

---Base of every layer and model; nn.module makes classes of it.
---@class sgl.nn.Module
---@field training boolean
---@operator call(...): any
sgl.nn.Module = {}

---What calling the module computes; every class defines its own.
---@param ... any as the class takes them
---@return any # what the class says
function sgl.nn.Module:forward(...) end

---Iterates over name, parameter in order of assignment; a shared parameter comes once, under its first name.
---@return fun(...): any # iterator
function sgl.nn.Module:named_parameters() end

---The parameters as a list, each once.
---@return sgl.Tensor[] # list of tensors
function sgl.nn.Module:parameters() end

---Iterates over name, tensor for tensors that are no parameters.
---@return fun(...): any # iterator
function sgl.nn.Module:named_buffers() end

---The tensors that are no parameters, as a list.
---@return sgl.Tensor[] # list of tensors
function sgl.nn.Module:buffers() end

---Iterates over name, module, itself first under the name ''.
---@return fun(...): any # iterator
function sgl.nn.Module:named_modules() end

---The modules held directly, as a list.
---@return sgl.nn.Module[] # list of modules
function sgl.nn.Module:children() end

---Calls fn(module) for every module below and then itself.
---@param fn function gets a module
---@return self # the module
function sgl.nn.Module:apply(fn) end

---Sets training mode (dropout, batch statistics), below too.
---@param on? boolean default true
---@return self # the module
function sgl.nn.Module:train(on) end

---Sets evaluation mode, below too.
---@return self # the module
function sgl.nn.Module:eval() end

---Number of elements of all parameters.
---@return integer # integer
function sgl.nn.Module:count() end

---Casts parameters and buffers of float type to a dtype.
---@param dtype string a float dtype
---@return self # the module
function sgl.nn.Module:to(dtype) end

---@class sgl.nn.Module.state_dict.Options
---@field names? string 'pytorch': names and layouts that load there

---Parameters and buffers by name. The list part of the table holds the names in order; values are the tensors themselves, not copies. With PyTorch's names, what is one tensor there is joined.
---@param o? sgl.nn.Module.state_dict.Options
---@return table # table: name -> tensor, and names from 1
function sgl.nn.Module:state_dict(o) end

---@class sgl.nn.Module.load_state_dict.Options
---@field strict? boolean names must be the same on both sides (default true)
---@field from? string 'pytorch': names and layouts of a file saved there; 'sgl': those of this library, whatever they look like

---Copies values by name into parameters and buffers.
---@param dict table name -> tensor, as state_dict or sgl.load gives; or a module
---@param o? sgl.nn.Module.load_state_dict.Options
---@return self # the module; names that were missing and that were unexpected, as lists
function sgl.nn.Module:load_state_dict(dict, o) end

---A new class of modules. The constructor receives the object and then the arguments of the call; fields that are tensors or modules are registered. Define Class:forward(...).
---@param name string shown in messages
---@param constructor function fn(self, ...)
---@return any # class: call it to make an object
function sgl.nn.module(name, constructor) end

---Marks a tensor as trainable: a module that holds it lists it among its parameters. What it was computed from gets no gradient through it.
---@param value sgl.Tensor of a float dtype
---@return sgl.Tensor # tensor, the same
function sgl.nn.parameter(value) end

---Activations, normalisations and linear maps as functions.
---@class sgl.nn.functional
sgl.nn.functional = {}

---max(x, 0).
---@param x sgl.Tensor any shape
---@return sgl.Tensor # tensor, shape of x
function sgl.nn.functional.relu(x) end

---Hyperbolic tangent.
---@param x sgl.Tensor any shape
---@return sgl.Tensor # tensor, shape of x
function sgl.nn.functional.tanh(x) end

---1 / (1 + exp(-x)).
---@param x sgl.Tensor any shape
---@return sgl.Tensor # tensor, shape of x
function sgl.nn.functional.sigmoid(x) end

---x · sigmoid(x), also called swish.
---@param x sgl.Tensor any shape
---@return sgl.Tensor # tensor, shape of x
function sgl.nn.functional.silu(x) end

---log(1 + exp(x)), without overflow.
---@param x sgl.Tensor any shape
---@return sgl.Tensor # tensor, shape of x
function sgl.nn.functional.softplus(x) end

---@class sgl.nn.functional.gelu.Options
---@field approximate? string none: by erf; tanh: the tanh form (default "none")

---Gaussian error linear unit, x · Φ(x) (Hendrycks and Gimpel, 2016).
---@param x sgl.Tensor any shape
---@param o? sgl.nn.functional.gelu.Options
---@return sgl.Tensor # tensor, shape of x
function sgl.nn.functional.gelu(x, o) end

---exp(x) divided by its sum along a dim.
---@param x sgl.Tensor any shape
---@param dim? integer default -1
---@return sgl.Tensor # tensor, shape of x
function sgl.nn.functional.softmax(x, dim) end

---Logarithm of softmax along a dim, without overflow.
---@param x sgl.Tensor any shape
---@param dim? integer default -1
---@return sgl.Tensor # tensor, shape of x
function sgl.nn.functional.log_softmax(x, dim) end

---@class sgl.nn.functional.dropout.Options
---@field training? boolean false: x as it is (default true)

---Zeroes elements with probability p and scales the others by 1 / (1 - p).
---@param x sgl.Tensor any shape
---@param p number probability, in [0, 1)
---@param o? sgl.nn.functional.dropout.Options
---@return sgl.Tensor # tensor, shape of x
function sgl.nn.functional.dropout(x, p, o) end

---x · weightᵀ + bias over the last dim.
---@param x sgl.Tensor f32[…, in]
---@param weight sgl.Tensor f32[out, in]
---@param bias? sgl.Tensor f32[out]
---@return sgl.Tensor # tensor, f32[…, out]
function sgl.nn.functional.linear(x, weight, bias) end

---Rows of a table by index.
---@param index sgl.Tensor integers from 0, any shape
---@param weight sgl.Tensor f32[n, d]
---@return sgl.Tensor # tensor, f32[…, d]
function sgl.nn.functional.embedding(index, weight) end

---@class sgl.nn.functional.layer_norm.Options
---@field eps? number added to the variance (default 1e-05)

---(x - mean) / sqrt(variance + eps) over the trailing dims, then scale and shift (Ba, Kiros and Hinton, 2016). The variance is the biased one.
---@param x sgl.Tensor f32[…, shape]
---@param shape table sizes of the trailing dims
---@param weight? sgl.Tensor f32[shape]
---@param bias? sgl.Tensor f32[shape]
---@param o? sgl.nn.functional.layer_norm.Options
---@return sgl.Tensor # tensor, shape of x
function sgl.nn.functional.layer_norm(x, shape, weight, bias, o) end

---@class sgl.nn.functional.rms_norm.Options
---@field eps? number added to the mean of squares (default 1e-06)

---x / sqrt(mean(x²) + eps) over the trailing dims, then scale (Zhang and Sennrich, 2019).
---@param x sgl.Tensor f32[…, shape]
---@param shape table sizes of the trailing dims
---@param weight? sgl.Tensor f32[shape]
---@param o? sgl.nn.functional.rms_norm.Options
---@return sgl.Tensor # tensor, shape of x
function sgl.nn.functional.rms_norm(x, shape, weight, o) end

---@class sgl.nn.functional.group_norm.Options
---@field eps? number added to the variance (default 1e-05)

---Normalises each group of channels of each sample (Wu and He, 2018).
---@param x sgl.Tensor f32[n, c, …]
---@param groups integer divides c
---@param weight? sgl.Tensor f32[c]
---@param bias? sgl.Tensor f32[c]
---@param o? sgl.nn.functional.group_norm.Options
---@return sgl.Tensor # tensor, shape of x
function sgl.nn.functional.group_norm(x, groups, weight, bias, o) end

---@class sgl.nn.functional.batch_norm.Options
---@field eps? number added to the variance (default 1e-05)

---Normalises each channel with the given statistics (Ioffe and Szegedy, 2015).
---@param x sgl.Tensor f32[n, c, …]
---@param mean sgl.Tensor f32[c]
---@param variance sgl.Tensor f32[c]
---@param weight? sgl.Tensor f32[c]
---@param bias? sgl.Tensor f32[c]
---@param o? sgl.nn.functional.batch_norm.Options
---@return sgl.Tensor # tensor, shape of x
function sgl.nn.functional.batch_norm(x, mean, variance, weight, bias, o) end

---@class sgl.nn.functional.scaled_dot_product_attention.Options
---@field causal? boolean position i sees positions up to i only (default false)
---@field mask? sgl.Tensor bool, broadcasts to [t, s]; false hides
---@field scale? number instead of 1 / sqrt(d)
---@field dropout? number share of the weights to zero; give 0 in evaluation (default 0)

---softmax(q · kᵀ / sqrt(d)) · v (Vaswani et al., 2017). A position whose mask hides all gets 0, with gradient 0.
---@param q sgl.Tensor f32[…, t, d]
---@param k sgl.Tensor f32[…, s, d]
---@param v sgl.Tensor f32[…, s, e]
---@param o? sgl.nn.functional.scaled_dot_product_attention.Options
---@return sgl.Tensor # tensor, f32[…, t, e]
function sgl.nn.functional.scaled_dot_product_attention(q, k, v, o) end

---1 at the index, 0 elsewhere, along a new last dim.
---@param index sgl.Tensor integers from 0
---@param classes integer size of the new dim
---@return sgl.Tensor # tensor, f32[…, classes]
function sgl.nn.functional.one_hot(index, classes) end

---Initialisers, which fill a tensor and return it.
---@class sgl.nn.init
sgl.nn.init = {}

---Every element the same.
---@param t sgl.Tensor filled in place
---@param value number of each element
---@return sgl.Tensor # t
function sgl.nn.init.constant(t, value) end

---All 0.
---@param t sgl.Tensor filled in place
---@return sgl.Tensor # t
function sgl.nn.init.zeros(t) end

---All 1.
---@param t sgl.Tensor filled in place
---@return sgl.Tensor # t
function sgl.nn.init.ones(t) end

---Uniform in [lo, hi).
---@param t sgl.Tensor filled in place
---@param lo? number default 0
---@param hi? number default 1
---@return sgl.Tensor # t
function sgl.nn.init.uniform(t, lo, hi) end

---Normal with a mean and a standard deviation.
---@param t sgl.Tensor filled in place
---@param mean? number default 0
---@param std? number default 1
---@return sgl.Tensor # t
function sgl.nn.init.normal(t, mean, std) end

---@class sgl.nn.init.xavier_uniform.Options
---@field gain? number (default 1)

---Uniform in ±gain·sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio, 2010).
---@param t sgl.Tensor filled in place
---@param o? sgl.nn.init.xavier_uniform.Options
---@return sgl.Tensor # t
function sgl.nn.init.xavier_uniform(t, o) end

---@class sgl.nn.init.xavier_normal.Options
---@field gain? number (default 1)

---Normal with deviation gain·sqrt(2 / (fan_in + fan_out)).
---@param t sgl.Tensor filled in place
---@param o? sgl.nn.init.xavier_normal.Options
---@return sgl.Tensor # t
function sgl.nn.init.xavier_normal(t, o) end

---@class sgl.nn.init.kaiming_uniform.Options
---@field slope? number negative slope of leaky_relu (default 0)
---@field mode? string fan_in or fan_out (default "fan_in")
---@field nonlinearity? string whose gain to use (default "leaky_relu")

---Uniform with deviation gain / sqrt(fan) (He et al., 2015).
---@param t sgl.Tensor filled in place
---@param o? sgl.nn.init.kaiming_uniform.Options
---@return sgl.Tensor # t
function sgl.nn.init.kaiming_uniform(t, o) end

---@class sgl.nn.init.kaiming_normal.Options
---@field slope? number negative slope of leaky_relu (default 0)
---@field mode? string fan_in or fan_out (default "fan_in")
---@field nonlinearity? string whose gain to use (default "leaky_relu")

---Normal with deviation gain / sqrt(fan) (He et al., 2015).
---@param t sgl.Tensor filled in place
---@param o? sgl.nn.init.kaiming_normal.Options
---@return sgl.Tensor # t
function sgl.nn.init.kaiming_normal(t, o) end

---@class sgl.nn.init.orthogonal.Options
---@field gain? number (default 1)

---A (semi-)orthogonal matrix, uniformly distributed: rows or columns, whichever are fewer, are orthonormal (Saxe, McClelland and Ganguli, 2014). Dims behind the first are taken as one.
---@param t sgl.Tensor filled in place
---@param o? sgl.nn.init.orthogonal.Options
---@return sgl.Tensor # t
function sgl.nn.init.orthogonal(t, o) end

---@class sgl.nn.Linear.Options
---@field bias? boolean with a bias (default true)
---@field init? function fills the weight instead of the default, fn(weight)
---@field dtype? string dtype of the parameters (default "f32")

---y = x · weightᵀ + bias over the last dim. Parameters: weight f32[out, in], bias f32[out].
---@class sgl.nn.Linear: sgl.nn.Module
---@overload fun(inputs: integer, outputs: integer, o?: sgl.nn.Linear.Options): sgl.nn.Linear
sgl.nn.Linear = {}

---@class sgl.nn.Embedding.Options
---@field init? function fills the weight instead of the default, fn(weight)
---@field dtype? string dtype of the parameters (default "f32")

---Rows of a table by index. Parameter: weight f32[count, width], normal(0, 1).
---@class sgl.nn.Embedding: sgl.nn.Module
---@overload fun(count: integer, width: integer, o?: sgl.nn.Embedding.Options): sgl.nn.Embedding
sgl.nn.Embedding = {}

---x as it is.
---@class sgl.nn.Identity: sgl.nn.Module
---@overload fun(): sgl.nn.Identity
sgl.nn.Identity = {}

---max(x, 0).
---@class sgl.nn.ReLU: sgl.nn.Module
---@overload fun(): sgl.nn.ReLU
sgl.nn.ReLU = {}

---x · sigmoid(x).
---@class sgl.nn.SiLU: sgl.nn.Module
---@overload fun(): sgl.nn.SiLU
sgl.nn.SiLU = {}

---Hyperbolic tangent.
---@class sgl.nn.Tanh: sgl.nn.Module
---@overload fun(): sgl.nn.Tanh
sgl.nn.Tanh = {}

---1 / (1 + exp(-x)).
---@class sgl.nn.Sigmoid: sgl.nn.Module
---@overload fun(): sgl.nn.Sigmoid
sgl.nn.Sigmoid = {}

---log(1 + exp(x)).
---@class sgl.nn.Softplus: sgl.nn.Module
---@overload fun(): sgl.nn.Softplus
sgl.nn.Softplus = {}

---@class sgl.nn.GELU.Options
---@field approximate? string none: by erf; tanh: the tanh form (default "none")

---x · Φ(x).
---@class sgl.nn.GELU: sgl.nn.Module
---@overload fun(o?: sgl.nn.GELU.Options): sgl.nn.GELU
sgl.nn.GELU = {}

---exp(x) divided by its sum along a dim.
---@class sgl.nn.Softmax: sgl.nn.Module
---@overload fun(dim?: integer): sgl.nn.Softmax
sgl.nn.Softmax = {}

---Logarithm of softmax along a dim.
---@class sgl.nn.LogSoftmax: sgl.nn.Module
---@overload fun(dim?: integer): sgl.nn.LogSoftmax
sgl.nn.LogSoftmax = {}

---Dims first to last as one.
---@class sgl.nn.Flatten: sgl.nn.Module
---@overload fun(first?: integer, last?: integer): sgl.nn.Flatten
sgl.nn.Flatten = {}

---In training, zeroes elements with probability p and scales the others by 1 / (1 - p); in evaluation, x as it is.
---@class sgl.nn.Dropout: sgl.nn.Module
---@overload fun(p?: number): sgl.nn.Dropout
sgl.nn.Dropout = {}

---Modules one after the other; children are named 1, 2, … and are fields: seq[1].
---@class sgl.nn.Sequential: sgl.nn.Module
---@overload fun(...: sgl.nn.Module): sgl.nn.Sequential
sgl.nn.Sequential = {}

---A list of modules that its owner registers; list[1] and #list work as on a table.
---@class sgl.nn.ModuleList: sgl.nn.Module
---@overload fun(...: sgl.nn.Module): sgl.nn.ModuleList
sgl.nn.ModuleList = {}

---Adds a module at the end.
---@param module sgl.nn.Module the new last
---@return any # the list
function sgl.nn.ModuleList:append(module) end

---@class sgl.nn.LayerNorm.Options
---@field eps? number added to the variance (default 1e-05)
---@field affine? boolean with a scale (and a shift) (default true)
---@field bias? boolean with a shift (default true)
---@field dtype? string dtype of the parameters (default "f32")

---Normalises over the trailing dims, then scales and shifts. Parameters: weight, bias f32[shape].
---@class sgl.nn.LayerNorm: sgl.nn.Module
---@overload fun(shape: integer|table, o?: sgl.nn.LayerNorm.Options): sgl.nn.LayerNorm
sgl.nn.LayerNorm = {}

---@class sgl.nn.RMSNorm.Options
---@field eps? number added to the mean of squares (default 1e-06)
---@field affine? boolean with a scale (and a shift) (default true)
---@field dtype? string dtype of the parameters (default "f32")

---Divides by the root of the mean square over the trailing dims, then scales. Parameter: weight.
---@class sgl.nn.RMSNorm: sgl.nn.Module
---@overload fun(shape: integer|table, o?: sgl.nn.RMSNorm.Options): sgl.nn.RMSNorm
sgl.nn.RMSNorm = {}

---@class sgl.nn.GroupNorm.Options
---@field eps? number added to the variance (default 1e-05)
---@field affine? boolean with a scale (and a shift) (default true)
---@field bias? boolean with a shift (default true)
---@field dtype? string dtype of the parameters (default "f32")

---Normalises each group of channels of each sample. Parameters: weight, bias f32[channels].
---@class sgl.nn.GroupNorm: sgl.nn.Module
---@overload fun(groups: integer, channels: integer, o?: sgl.nn.GroupNorm.Options): sgl.nn.GroupNorm
sgl.nn.GroupNorm = {}

---@class sgl.nn.BatchNorm1d.Options
---@field eps? number added to the variance (default 1e-05)
---@field momentum? number share of the new batch in the running statistics (default 0.1)
---@field affine? boolean with a scale (and a shift) (default true)
---@field bias? boolean with a shift (default true)
---@field dtype? string dtype of the parameters (default "f32")

---Normalises each channel over the batch (Ioffe and Szegedy, 2015). Parameters: weight, bias f32[channels]; buffers: running_mean, running_var f32[channels], num_batches_tracked.
---@class sgl.nn.BatchNorm1d: sgl.nn.Module
---@overload fun(channels: integer, o?: sgl.nn.BatchNorm1d.Options): sgl.nn.BatchNorm1d
sgl.nn.BatchNorm1d = {}

---@class sgl.nn.BatchNorm2d.Options
---@field eps? number added to the variance (default 1e-05)
---@field momentum? number share of the new batch in the running statistics (default 0.1)
---@field affine? boolean with a scale (and a shift) (default true)
---@field bias? boolean with a shift (default true)
---@field dtype? string dtype of the parameters (default "f32")

---Normalises each channel over the batch (Ioffe and Szegedy, 2015). Parameters: weight, bias f32[channels]; buffers: running_mean, running_var f32[channels], num_batches_tracked.
---@class sgl.nn.BatchNorm2d: sgl.nn.Module
---@overload fun(channels: integer, o?: sgl.nn.BatchNorm2d.Options): sgl.nn.BatchNorm2d
sgl.nn.BatchNorm2d = {}

---@class sgl.nn.functional.conv2d.Options
---@field stride? integer|table step of the window (default 1)
---@field padding? integer|table zeros added on each side (default 0)
---@field dilation? integer|table distance between taps (default 1)
---@field groups? integer channel groups that do not see each other (default 1)

---Cross-correlation of images with a bank of kernels, as convolution layers mean it.
---@param x sgl.Tensor f32[n, c, h, w]
---@param weight sgl.Tensor f32[out, c/groups, kh, kw]
---@param bias? sgl.Tensor f32[out]
---@param o? sgl.nn.functional.conv2d.Options
---@return sgl.Tensor # tensor, f32[n, out, oh, ow], oh = (h + 2·padding - dilation·(kh - 1) - 1) // stride + 1
function sgl.nn.functional.conv2d(x, weight, bias, o) end

---@class sgl.nn.functional.conv1d.Options
---@field stride? integer step of the window (default 1)
---@field padding? integer zeros added on each side (default 0)
---@field dilation? integer distance between taps (default 1)
---@field groups? integer channel groups that do not see each other (default 1)

---Cross-correlation of sequences with a bank of kernels.
---@param x sgl.Tensor f32[n, c, l]
---@param weight sgl.Tensor f32[out, c/groups, k]
---@param bias? sgl.Tensor f32[out]
---@param o? sgl.nn.functional.conv1d.Options
---@return sgl.Tensor # tensor, f32[n, out, ol]
function sgl.nn.functional.conv1d(x, weight, bias, o) end

---@class sgl.nn.functional.max_pool2d.Options
---@field stride? integer|table step of the window; default: its size
---@field padding? integer|table elements added on each side; they never win and count as 0 (default 0)

---Largest element of each window.
---@param x sgl.Tensor f32[n, c, h, w]
---@param size integer|table of the window
---@param o? sgl.nn.functional.max_pool2d.Options
---@return sgl.Tensor # tensor, f32[n, c, oh, ow]
function sgl.nn.functional.max_pool2d(x, size, o) end

---@class sgl.nn.functional.max_pool1d.Options
---@field stride? integer step of the window; default: its size
---@field padding? integer elements added on each side (default 0)

---Largest element of each window.
---@param x sgl.Tensor f32[n, c, l]
---@param size integer of the window
---@param o? sgl.nn.functional.max_pool1d.Options
---@return sgl.Tensor # tensor, f32[n, c, ol]
function sgl.nn.functional.max_pool1d(x, size, o) end

---@class sgl.nn.functional.avg_pool2d.Options
---@field stride? integer|table step of the window; default: its size
---@field padding? integer|table elements added on each side; they never win and count as 0 (default 0)

---Mean of each window; padding counts, as PyTorch's default.
---@param x sgl.Tensor f32[n, c, h, w]
---@param size integer|table of the window
---@param o? sgl.nn.functional.avg_pool2d.Options
---@return sgl.Tensor # tensor, f32[n, c, oh, ow]
function sgl.nn.functional.avg_pool2d(x, size, o) end

---@class sgl.nn.functional.avg_pool1d.Options
---@field stride? integer step of the window; default: its size
---@field padding? integer elements added on each side (default 0)

---Mean of each window; padding counts, as PyTorch's default.
---@param x sgl.Tensor f32[n, c, l]
---@param size integer of the window
---@param o? sgl.nn.functional.avg_pool1d.Options
---@return sgl.Tensor # tensor, f32[n, c, ol]
function sgl.nn.functional.avg_pool1d(x, size, o) end

---@class sgl.nn.Conv1d.Options
---@field stride? integer step of the window (default 1)
---@field padding? integer zeros added on each side (default 0)
---@field dilation? integer distance between taps (default 1)
---@field groups? integer channel groups that do not see each other (default 1)
---@field bias? boolean with a bias (default true)
---@field init? function fills the weight instead of the default, fn(weight)
---@field dtype? string dtype of the parameters (default "f32")

---Convolution. Parameters: weight f32[outputs, inputs/groups, kernel…], bias f32[outputs].
---@class sgl.nn.Conv1d: sgl.nn.Module
---@overload fun(inputs: integer, outputs: integer, kernel: integer, o?: sgl.nn.Conv1d.Options): sgl.nn.Conv1d
sgl.nn.Conv1d = {}

---@class sgl.nn.MaxPool1d.Options
---@field stride? integer step of the window; default: its size
---@field padding? integer elements added on each side (default 0)

---Largest element of each window.
---@class sgl.nn.MaxPool1d: sgl.nn.Module
---@overload fun(size: integer, o?: sgl.nn.MaxPool1d.Options): sgl.nn.MaxPool1d
sgl.nn.MaxPool1d = {}

---@class sgl.nn.AvgPool1d.Options
---@field stride? integer step of the window; default: its size
---@field padding? integer elements added on each side (default 0)

---Mean of each window.
---@class sgl.nn.AvgPool1d: sgl.nn.Module
---@overload fun(size: integer, o?: sgl.nn.AvgPool1d.Options): sgl.nn.AvgPool1d
sgl.nn.AvgPool1d = {}

---@class sgl.nn.Conv2d.Options
---@field stride? integer|table step of the window (default 1)
---@field padding? integer|table zeros added on each side (default 0)
---@field dilation? integer|table distance between taps (default 1)
---@field groups? integer channel groups that do not see each other (default 1)
---@field bias? boolean with a bias (default true)
---@field init? function fills the weight instead of the default, fn(weight)
---@field dtype? string dtype of the parameters (default "f32")

---Convolution. Parameters: weight f32[outputs, inputs/groups, kernel…], bias f32[outputs].
---@class sgl.nn.Conv2d: sgl.nn.Module
---@overload fun(inputs: integer, outputs: integer, kernel: integer|table, o?: sgl.nn.Conv2d.Options): sgl.nn.Conv2d
sgl.nn.Conv2d = {}

---@class sgl.nn.MaxPool2d.Options
---@field stride? integer|table step of the window; default: its size
---@field padding? integer|table elements added on each side (default 0)

---Largest element of each window.
---@class sgl.nn.MaxPool2d: sgl.nn.Module
---@overload fun(size: integer|table, o?: sgl.nn.MaxPool2d.Options): sgl.nn.MaxPool2d
sgl.nn.MaxPool2d = {}

---@class sgl.nn.AvgPool2d.Options
---@field stride? integer|table step of the window; default: its size
---@field padding? integer|table elements added on each side (default 0)

---Mean of each window.
---@class sgl.nn.AvgPool2d: sgl.nn.Module
---@overload fun(size: integer|table, o?: sgl.nn.AvgPool2d.Options): sgl.nn.AvgPool2d
sgl.nn.AvgPool2d = {}

---@class sgl.nn.MultiheadAttention.Options
---@field causal? boolean position i sees positions up to i only (default false)
---@field bias? boolean with biases (default true)
---@field dropout? number on the attention weights, in training (default 0)

---Attention with several heads over [batch, time, width]. Children: q, k, v, out, each a Linear(width, width).
---@class sgl.nn.MultiheadAttention: sgl.nn.Module
---@overload fun(width: integer, heads: integer, o?: sgl.nn.MultiheadAttention.Options): sgl.nn.MultiheadAttention
sgl.nn.MultiheadAttention = {}

---@class sgl.nn.RNN.Options
---@field layers? integer stacked layers (default 1)
---@field bias? boolean with biases (default true)
---@field dropout? number between layers, in training (default 0)

---h' = tanh(x·Wi + h·Wh + b).
---@class sgl.nn.RNN: sgl.nn.Module
---@overload fun(inputs: integer, hidden: integer, o?: sgl.nn.RNN.Options): sgl.nn.RNN
sgl.nn.RNN = {}

---@class sgl.nn.LSTM.Options
---@field layers? integer stacked layers (default 1)
---@field bias? boolean with biases (default true)
---@field dropout? number between layers, in training (default 0)

---Long short-term memory (Hochreiter and Schmidhuber, 1997); gates in the order input, forget, cell, output.
---@class sgl.nn.LSTM: sgl.nn.Module
---@overload fun(inputs: integer, hidden: integer, o?: sgl.nn.LSTM.Options): sgl.nn.LSTM
sgl.nn.LSTM = {}

---@class sgl.nn.GRU.Options
---@field layers? integer stacked layers (default 1)
---@field bias? boolean with biases (default true)
---@field dropout? number between layers, in training (default 0)

---Gated recurrent unit (Cho et al., 2014); gates in the order reset, update, new.
---@class sgl.nn.GRU: sgl.nn.Module
---@overload fun(inputs: integer, hidden: integer, o?: sgl.nn.GRU.Options): sgl.nn.GRU
sgl.nn.GRU = {}

---@class sgl.nn.mse_loss.Options
---@field reduction? string mean, sum or none (default "mean")

---Squared error (x - y)².
---@param x sgl.Tensor prediction, any shape
---@param y sgl.Tensor target, shape of x
---@param o? sgl.nn.mse_loss.Options
---@return sgl.Tensor # tensor, f32[] or the shape of x (none)
function sgl.nn.mse_loss(x, y, o) end

---@class sgl.nn.l1_loss.Options
---@field reduction? string mean, sum or none (default "mean")

---Absolute error |x - y|.
---@param x sgl.Tensor prediction, any shape
---@param y sgl.Tensor target, shape of x
---@param o? sgl.nn.l1_loss.Options
---@return sgl.Tensor # tensor, f32[] or the shape of x (none)
function sgl.nn.l1_loss(x, y, o) end

---@class sgl.nn.huber_loss.Options
---@field delta? number where the square ends (default 1)
---@field reduction? string mean, sum or none (default "mean")

---d²/2 where |d| <= delta, else delta·(|d| - delta/2), d = x - y (Huber, 1964).
---@param x sgl.Tensor prediction, any shape
---@param y sgl.Tensor target, shape of x
---@param o? sgl.nn.huber_loss.Options
---@return sgl.Tensor # tensor, f32[] or the shape of x (none)
function sgl.nn.huber_loss(x, y, o) end

---@class sgl.nn.bce_with_logits.Options
---@field pos_weight? number weight of the positive class (default 1)
---@field reduction? string mean, sum or none (default "mean")

---Binary cross entropy of logits x against probabilities y, computed as (1 - y)·x + softplus(-x).
---@param x sgl.Tensor prediction, any shape
---@param y sgl.Tensor target, shape of x
---@param o? sgl.nn.bce_with_logits.Options
---@return sgl.Tensor # tensor, f32[] or the shape of x (none)
function sgl.nn.bce_with_logits(x, y, o) end

---@class sgl.nn.kl_div.Options
---@field reduction? string mean, sum or none (default "mean")

---Kullback-Leibler divergence y·(log y - x) of log-probabilities x from probabilities y. The mean is over all elements.
---@param x sgl.Tensor prediction, any shape
---@param y sgl.Tensor target, shape of x
---@param o? sgl.nn.kl_div.Options
---@return sgl.Tensor # tensor, f32[] or the shape of x (none)
function sgl.nn.kl_div(x, y, o) end

---@class sgl.nn.nll_loss.Options
---@field ignore_index? integer a class whose rows count neither in sum nor mean
---@field reduction? string mean, sum or none (default "mean")

---Minus the log-probability of the class.
---@param x sgl.Tensor f32[n, c] or f32[n, c, …]
---@param target sgl.Tensor integers from 0, [n] or [n, …]
---@param o? sgl.nn.nll_loss.Options
---@return sgl.Tensor # tensor, f32[] or the shape of target (none)
function sgl.nn.nll_loss(x, target, o) end

---@class sgl.nn.cross_entropy.Options
---@field ignore_index? integer a class whose rows count neither in sum nor mean
---@field label_smoothing? number share of the target spread over all classes (default 0)
---@field reduction? string mean, sum or none (default "mean")

---Mean cross entropy of logits against classes: nll_loss of log_softmax.
---@param x sgl.Tensor f32[n, c] or f32[n, c, …]
---@param target sgl.Tensor integers from 0, [n] or [n, …]
---@param o? sgl.nn.cross_entropy.Options
---@return sgl.Tensor # tensor, f32[] or the shape of target (none)
function sgl.nn.cross_entropy(x, target, o) end

---Optimizers, clipping and learning rate schedules.
---@class sgl.optim
sgl.optim = {}

---Scales gradients so that their global norm is at most `limit` (Pascanu et al., 2013).
---@param grads table list of tensors; its items are replaced
---@param limit number|sgl.Tensor largest norm
---@return sgl.Tensor # tensor f32[], the norm before
function sgl.optim.clip_norm(grads, limit) end

---Clamps every element of the gradients to [-limit, limit].
---@param grads table list of tensors; its items are replaced
---@param limit number largest absolute value
function sgl.optim.clip_value(grads, limit) end

---Learning rates as functions of the step.
---@class sgl.optim.schedule
sgl.optim.schedule = {}

---A learning rate as a function of the step.
---@class sgl.optim.schedule.Schedule
sgl.optim.schedule.Schedule = {}

---The learning rate after a number of steps.
---@param step integer from 0; in a step also a number among its arguments
---@return number # number
function sgl.optim.schedule.Schedule:at(step) end

---@class sgl.optim.schedule.step.Options
---@field every? integer steps between changes (default 1000)
---@field factor? number of the rate, each time (default 0.1)

---Multiplied by `factor` after every `every` steps.
---@param lr number at the start
---@param o? sgl.optim.schedule.step.Options
---@return sgl.optim.schedule.Schedule # schedule
function sgl.optim.schedule.step(lr, o) end

---@class sgl.optim.schedule.cosine.Options
---@field warmup? integer steps of the warm-up (default 0)
---@field last? number at the end (default 0)

---Half a cosine from `lr` to `last` over `steps` steps, after a linear warm-up from 0 (Loshchilov and Hutter, 2017); then `last`.
---@param lr number the highest
---@param steps integer all, warm-up included
---@param o? sgl.optim.schedule.cosine.Options
---@return sgl.optim.schedule.Schedule # schedule
function sgl.optim.schedule.cosine(lr, steps, o) end

---Linear from 0 to `lr` over `steps` steps, then constant.
---@param lr number the highest
---@param steps integer of the warm-up
---@return sgl.optim.schedule.Schedule # schedule
function sgl.optim.schedule.warmup(lr, steps) end

---@class sgl.optim.schedule.one_cycle.Options
---@field up? number share of the steps that rise (default 0.3)
---@field start? number lr over the first rate (default 25)
---@field finish? number first rate over the last (default 10000)

---Cosine up from lr / `start` to lr over the share `up` of the steps, then cosine down to lr / `start` / `finish` (Smith and Topin, 2018).
---@param lr number the highest
---@param steps integer of the whole cycle
---@param o? sgl.optim.schedule.one_cycle.Options
---@return sgl.optim.schedule.Schedule # schedule
function sgl.optim.schedule.one_cycle(lr, steps, o) end

---Always the same.
---@param lr number of each step
---@return sgl.optim.schedule.Schedule # schedule
function sgl.optim.schedule.constant(lr) end

---Lowers an optimizer's rate when a value stops improving.
---@class sgl.optim.schedule.Plateau
sgl.optim.schedule.Plateau = {}

---@class sgl.optim.schedule.plateau.Options
---@field factor? number of the rate, each time it is lowered (default 0.1)
---@field patience? integer calls without improvement (default 10)
---@field threshold? number relative improvement that counts (default 0.0001)
---@field mode? string min: lower is better; max: higher is (default "min")
---@field lowest? number never below (default 0)

---Multiplies the optimizer's learning rate by `factor` when :update(value) saw no improvement for more than `patience` calls.
---@param optimizer table the one whose groups' rates are lowered
---@param o? sgl.optim.schedule.plateau.Options
---@return sgl.optim.schedule.Plateau # plateau
function sgl.optim.schedule.plateau(optimizer, o) end

---Takes the value of an epoch.
---@param value number for instance the validation loss
---@return boolean # boolean: was the rate lowered?
function sgl.optim.schedule.Plateau:update(value) end

---Base of the optimizers. Fields: params, the parameters in order; steps, the number of steps made (i32, 0-d).
---@class sgl.optim.Optimizer
---@field params sgl.Tensor[]
---@field steps sgl.Tensor
sgl.optim.Optimizer = {}

---@class sgl.optim.Optimizer.step.Options
---@field lr? number|sgl.Tensor instead of the groups' own learning rate

---Updates the parameters from gradients.
---@param grads table list of tensors, in the order of params
---@param o? sgl.optim.Optimizer.step.Options
function sgl.optim.Optimizer:step(grads, o) end

---@class sgl.optim.Optimizer.minimize.Options
---@field clip_norm? number largest global norm of the gradients
---@field clip_value? number largest absolute value of an element
---@field lr? number|sgl.Tensor instead of the groups' own learning rate

---Gradient of the loss, clipping, and a step.
---@param loss sgl.Tensor f32[]
---@param o? sgl.optim.Optimizer.minimize.Options
---@return sgl.Tensor # tensor f32[], the norm before clipping, or nil without clip_norm
function sgl.optim.Optimizer:minimize(loss, o) end

---Sets the learning rate (with a schedule: a factor on it) of one group or of all.
---@param lr number the new rate, or factor
---@param group? integer from 1; default: all
function sgl.optim.Optimizer:set_lr(lr, group) end

---The learning rate that the next step of a group uses.
---@param group? integer from 1, the default
---@return number # number
function sgl.optim.Optimizer:lr(group) end

---Step count, learning rates and state tensors by name; names are listed in order in the list part. The state of a parameter is called after the name under which the module listed it, 'm.1.weight', or its number. The tensors themselves, not copies.
---@return table # table
function sgl.optim.Optimizer:state_dict() end

---Copies values by name, as state_dict gives them.
---@param dict table name -> tensor
function sgl.optim.Optimizer:load_state_dict(dict) end

---@class sgl.optim.SGD.Options
---@field lr? number|table learning rate: a number, or an optim.schedule (default 0.01)
---@field momentum? number decay of the velocity (default 0)
---@field nesterov? boolean look ahead along the velocity (default false)
---@field weight_decay? number L2 penalty, added to the gradient (default 0)

---Gradient descent with momentum (Polyak, 1964) and Nesterov's variant, as PyTorch's.
---@class sgl.optim.SGD: sgl.optim.Optimizer
---@overload fun(params: table, o?: sgl.optim.SGD.Options): sgl.optim.SGD
sgl.optim.SGD = {}

---@class sgl.optim.Adam.Options
---@field lr? number|table learning rate: a number, or an optim.schedule (default 0.001)
---@field beta1? number decay of the mean of gradients (default 0.9)
---@field beta2? number decay of the mean of their squares (default 0.999)
---@field eps? number added to the denominator (default 1e-08)
---@field weight_decay? number L2 penalty, added to the gradient (default 0)

---Adam (Kingma and Ba, 2015).
---@class sgl.optim.Adam: sgl.optim.Optimizer
---@overload fun(params: table, o?: sgl.optim.Adam.Options): sgl.optim.Adam
sgl.optim.Adam = {}

---@class sgl.optim.AdamW.Options
---@field lr? number|table learning rate: a number, or an optim.schedule (default 0.001)
---@field beta1? number decay of the mean of gradients (default 0.9)
---@field beta2? number decay of the mean of their squares (default 0.999)
---@field eps? number added to the denominator (default 1e-08)
---@field weight_decay? number share of the parameter taken away, times the learning rate (default 0.01)

---Adam with decoupled weight decay (Loshchilov and Hutter, 2019).
---@class sgl.optim.AdamW: sgl.optim.Optimizer
---@overload fun(params: table, o?: sgl.optim.AdamW.Options): sgl.optim.AdamW
sgl.optim.AdamW = {}

---@class sgl.optim.Adagrad.Options
---@field lr? number|table learning rate: a number, or an optim.schedule (default 0.01)
---@field eps? number added to the denominator (default 1e-10)
---@field weight_decay? number L2 penalty, added to the gradient (default 0)

---Adagrad (Duchi, Hazan and Singer, 2011).
---@class sgl.optim.Adagrad: sgl.optim.Optimizer
---@overload fun(params: table, o?: sgl.optim.Adagrad.Options): sgl.optim.Adagrad
sgl.optim.Adagrad = {}

---@class sgl.optim.RMSprop.Options
---@field lr? number|table learning rate: a number, or an optim.schedule (default 0.01)
---@field alpha? number decay of the mean of squares (default 0.99)
---@field eps? number added to the denominator (default 1e-08)
---@field momentum? number decay of the velocity (default 0)
---@field weight_decay? number L2 penalty, added to the gradient (default 0)

---RMSprop (Hinton, 2012).
---@class sgl.optim.RMSprop: sgl.optim.Optimizer
---@overload fun(params: table, o?: sgl.optim.RMSprop.Options): sgl.optim.RMSprop
sgl.optim.RMSprop = {}

---@class sgl.optim.Lion.Options
---@field lr? number|table learning rate: a number, or an optim.schedule (default 0.0001)
---@field beta1? number weight of the momentum in the update (default 0.9)
---@field beta2? number decay of the momentum (default 0.99)
---@field weight_decay? number share of the parameter taken away, times the learning rate (default 0)

---Lion (Chen et al., 2023): the sign of an interpolated momentum.
---@class sgl.optim.Lion: sgl.optim.Optimizer
---@overload fun(params: table, o?: sgl.optim.Lion.Options): sgl.optim.Lion
sgl.optim.Lion = {}

---Datasets: files to batches of tensors.
---@class sgl.data
sgl.data = {}

---Rows of several tensors: #ds is their number, ds.tensors the list, ds[i] row i. What a file named is in ds.columns, ds.classes and ds.categories, else false.
---@class sgl.data.Dataset
---@field tensors sgl.Tensor[]
---@operator len: integer
sgl.data.Dataset = {}

---@class sgl.data.Dataset.split.Options
---@field shuffle? boolean draw the rows; false: in the order of the file (default true)
---@field seed? integer in place of that of sgl.seed

---Parts of the rows: for split(0.7), 70 % and the rest. The rows are drawn by the seed unless shuffle is false.
---@param ... number each between 0 and 1
---@return sgl.data.Dataset # Dataset, …
---@return sgl.data.Dataset ...
function sgl.data.Dataset:split(...) end

---A dataset of what fn makes of all rows at once: fn(x, y, …) returns the new tensors.
---@param fn function gets the tensors of all rows, returns new ones
---@return sgl.data.Dataset # Dataset
function sgl.data.Dataset:map(fn) end

---@class sgl.data.Dataset.batches.Options
---@field shuffle? boolean another order in each epoch; false: in place (default true)
---@field drop_last? boolean leave out a last batch that is smaller (default false)
---@field epoch? integer number that decides the order; default: counted
---@field progress? string|boolean label of a progress display on stderr

---Iterates over batches of n rows: for x, y in ds:batches(64) do … end. Each call is the next epoch, with another order.
---@param n integer rows of a batch
---@param o? sgl.data.Dataset.batches.Options
---@return fun(...): any # iterator
function sgl.data.Dataset:batches(n, o) end

---A dataset of tensors that have a row for each sample.
---@param ... sgl.Tensor x, y, …
---@return sgl.data.Dataset # Dataset
function sgl.data.dataset(...) end

---@class sgl.data.csv.Options
---@field label? integer|string column of the class, by position or by name; text is numbered in the order of its bytes
---@field columns? table the features, by position or by name; default: all but the label
---@field categories? table columns of text that become numbers from 0, in the order of their bytes
---@field missing? number what stands for an empty cell, NA, null and the like; default: an error. A missing category is -1
---@field scale? number factor of the features that are numbers (default 1)
---@field header? boolean whether the first line holds names; default: by its look
---@field separator? string one character between the cells (default ",")
---@field dtype? string element type of the features; numbers are read with its digits (default "f32")

---Reads a CSV file (RFC 4180), gzipped or not. The dataset's `columns` are the names of the features, `classes` the texts of a label column of text, `categories` those of others.
---@param path string of the file, .gz too
---@param o? sgl.data.csv.Options
---@return sgl.data.Dataset? # Dataset of numbers [n, d] and i32[n]; or nil, message, code
---@return string? message
---@return string? code
function sgl.data.csv(path, o) end

---@class sgl.data.idx.Options
---@field scale? number factor of the images' values (default 1)
---@field flatten? boolean one row of f32[d] for each image (default false)

---Reads IDX files, gzipped or not: images and, if given, labels.
---@param images string path of the file, .gz too
---@param labels? string path of the file, .gz too
---@param o? sgl.data.idx.Options
---@return sgl.data.Dataset? # Dataset of f32[n, …] and i32[n]; or nil, message, code
---@return string? message
---@return string? code
function sgl.data.idx(images, labels, o) end

---A text as ids of its characters: #text characters, text.vocabulary the different ones, text.ids i32[n].
---@class sgl.data.Text
---@field vocabulary string[]
---@field ids sgl.Tensor
---@operator len: integer
sgl.data.Text = {}

---Reads a text file, gzipped or not, as ids of its characters.
---@param path string of the file, .gz too
---@return sgl.data.Text? # Text; or nil, message, code
---@return string? message
---@return string? code
function sgl.data.text(path) end

---The ids of a string's characters.
---@param text string of known characters
---@return integer[] # list of integers
function sgl.data.Text:encode(text) end

---The string that ids stand for.
---@param ids table|sgl.Tensor numbers of characters, from 0
---@return string # string
function sgl.data.Text:decode(ids) end

---Parts of the text, in its order: split(0.9) gives 90 % and the rest.
---@param ... number each between 0 and 1
---@return sgl.data.Text # Text, …
---@return sgl.data.Text ...
function sgl.data.Text:split(...) end

---@class sgl.data.Text.batches.Options
---@field length? integer characters of a window (default 64)
---@field steps? integer number of batches
---@field shuffle? boolean false: windows in the order of the text (default true)
---@field epoch? integer number that decides the order; default: counted
---@field progress? string|boolean label of a progress display on stderr

---Iterates over batches of n windows x and their next characters y. Without steps, an epoch of windows side by side; with steps, that many batches of windows from anywhere.
---@param n integer rows of a batch
---@param o? sgl.data.Text.batches.Options
---@return fun(...): any # iterator of x, y: i32[n, length]
function sgl.data.Text:batches(n, o) end

---Reads tensors of a safetensors file as a dataset: those named, or all in their order.
---@param path string of the file
---@param ... string which tensors; default: all
---@return sgl.data.Dataset? # Dataset; or nil, message, code
---@return string? message
---@return string? code
function sgl.data.safetensors(path, ...) end

---Samples from a Lua iterator; see data.iterator.
---@class sgl.data.Stream
sgl.data.Stream = {}

---Batches from a Lua function: fn(epoch) returns an iterator over samples.
---@param fn function fn(epoch) returns an iterator of examples
---@return sgl.data.Stream # Stream
function sgl.data.iterator(fn) end

---@class sgl.data.Stream.batches.Options
---@field drop_last? boolean leave out a last batch that is smaller (default false)
---@field epoch? integer given to the function; default: counted
---@field progress? string|boolean label of a progress display on stderr

---Iterates over batches of n samples.
---@param n integer rows of a batch
---@param o? sgl.data.Stream.batches.Options
---@return fun(...): any # iterator
function sgl.data.Stream:batches(n, o) end

---The ranks of a job: dist.rank, from 0, dist.size, how many there are, and dist.local_rank, the number among those of this machine.
---@class sgl.dist
sgl.dist = {}

---@class sgl.dist.alone.Options
---@field seconds? number how long the others wait without complaint (default 3600)

---Rank 0 alone calls the function, and the other ranks wait for it, as long as `seconds` says: for long work that belongs to one, such as writing a report or asking a server. All ranks call it and get its results, or its error. It cannot use compiled steps or tensors that ranks share, since all ranks compute and read those.
---@param fn function the work
---@param o? sgl.dist.alone.Options
---@return any # its results: nil, booleans, numbers and strings
function sgl.dist.alone(fn, o) end

---Calls the function once on each rank when the job is asked to stop, by SIGTERM or SIGINT at the launcher or any rank: all ranks stop before the same step, so they can save state together. Then the job ends with status 128 + the signal.
---@param fn function called with { signal = 15, step = the last one that ended, writer = whether this rank is the one that writes files }
function sgl.dist.on_stop(fn) end

---Calls the function once on each rank that is left when the job fails, before it ends. Ranks cannot exchange values any more: what each has by itself can be saved.
---@param fn function called with { rank = who failed, or -1, text = why, step = the last that began here, writer = whether this rank is the one that writes files }
function sgl.dist.on_failure(fn) end

---@class sgl.dist.exact.Options
---@field shards? integer blocks; 0 turns it off (default 8)
---@field over? string data: sums over samples, norms; all: all float sums (default "data")

---Exact mode: sums that ranks share are cut into `shards` blocks with a fixed order, so that steps have the same bits on 1 to `shards` ranks. --exact 8 on the command line is the same.
---@param o? sgl.dist.exact.Options
function sgl.dist.exact(o) end

---Ranks of an axis `model` (--plan data=2,model=2) share the weights of layers. A key names layers as named_modules does, * standing for a part between dots; the value is 'column' (a linear layer's results are shared), 'row' (its inputs) or 'vocabulary' (rows of a table). All else follows: activations, gradients, the optimizer. What the step means stays as it is. Say it before the first step.
---@param model sgl.nn.Module whose layers they are
---@param plan table { ['blocks.*.up'] = 'column', ['blocks.*.down'] = 'row' }
---@return self # the module
function sgl.dist.tensor_parallel(model, plan) end

---A placement for dist.place: a dim is shared by the ranks of an axis, or of several, the outermost first: dist.shard(1, 'model', 'data').
---@param dim integer from 1
---@param ... string names of axes of the mesh
---@return any # a placement
function sgl.dist.shard(dim, ...) end

---A placement for dist.place: every rank has all of it, under any plan.
---@return any # a placement
function sgl.dist.replicate() end

---Says how the ranks share a tensor: a parameter or other state, before the first step that uses it, or a value within a step. All that is computed with it follows; what it means stays. Axes that the mesh lacks are passed over.
---@param tensor sgl.Tensor whose values they are
---@param ... any dist.shard(…), one or several, or dist.replicate()
---@return any # the tensor
function sgl.dist.place(tensor, ...) end

---All ranks share the samples, and each has the whole model: the plan `ddp`, or the axis `data` of the mesh. The script means what it means on one rank; --plan goes first.
---@param model sgl.nn.Module the model
---@return self # the module
function sgl.dist.ddp(model) end

---@class sgl.dist.fsdp.Options
---@field reshard_after_forward? boolean gathers again for the backward pass: more exchanges, less memory (default false)

---All ranks share the samples, and each has a part of every parameter, of its gradient and of what the optimizer keeps: the plan `fsdp`, or the axis `fsdp` of the mesh. A step gathers what it needs. The script means what it means on one rank; --plan goes first.
---@param model sgl.nn.Module the model
---@param o? sgl.dist.fsdp.Options
---@return self # the module
function sgl.dist.fsdp(model, o) end

---@class sgl.dist.all_reduce.Options
---@field op? string how (default "sum")
---@field axis? string|table an axis of the mesh, or several; default: all ranks

---The values of all ranks, combined element by element, on each of them.
---@param tensor sgl.Tensor this rank's value
---@param o? sgl.dist.all_reduce.Options
---@return any # a tensor like it
function sgl.dist.all_reduce(tensor, o) end

---@class sgl.dist.all_gather.Options
---@field dim? integer along which dim (default 1)
---@field axis? string|table an axis of the mesh, or several; default: all ranks

---The values of all ranks, joined along a dim, on each of them.
---@param tensor sgl.Tensor this rank's value
---@param o? sgl.dist.all_gather.Options
---@return any # a tensor
function sgl.dist.all_gather(tensor, o) end

---@class sgl.dist.reduce_scatter.Options
---@field dim? integer along which dim (default 1)
---@field op? string how (default "sum")
---@field axis? string|table an axis of the mesh, or several; default: all ranks

---What all_reduce gives, cut along a dim into equal parts: this rank's part.
---@param tensor sgl.Tensor this rank's value
---@param o? sgl.dist.reduce_scatter.Options
---@return any # a tensor
function sgl.dist.reduce_scatter(tensor, o) end

---@class sgl.dist.all_to_all.Options
---@field dim? integer along which dim (default 1)
---@field axis? string|table an axis of the mesh, or several; default: all ranks

---Cuts a dim into as many equal parts as there are ranks: part i goes to rank i, and what the others have for this rank comes in its place.
---@param tensor sgl.Tensor this rank's value
---@param o? sgl.dist.all_to_all.Options
---@return any # a tensor like it
function sgl.dist.all_to_all(tensor, o) end

---@class sgl.dist.broadcast.Options
---@field from? integer which rank of the group, from 0 (default 0)
---@field axis? string|table an axis of the mesh, or several; default: all ranks

---The value of one rank, on all of them.
---@param tensor sgl.Tensor this rank's value
---@param o? sgl.dist.broadcast.Options
---@return any # a tensor like it
function sgl.dist.broadcast(tensor, o) end

---@class sgl.dist.send.Options
---@field from? integer which rank of the group sends (default 0)
---@field to? integer and which receives, from 0 (default 0)
---@field axis? string|table an axis of the mesh, or several; default: all ranks

---The value of rank `from`, on rank `to`; the others keep their own. All ranks of the group call it.
---@param tensor sgl.Tensor this rank's value
---@param o? sgl.dist.send.Options
---@return any # a tensor like it
function sgl.dist.send(tensor, o) end

---What sgl.import returns for an ONNX file: called with its inputs by position, or with one table of them by name. A number may stand for an input without dims; it is then known while a step is recorded. Fields: path, opset, producer, inputs, outputs (lists of { name, dtype, shape }).
---@class sgl.ImportedOnnx
sgl.ImportedOnnx = {}

---What sgl.rollout returns. Fields: ok, script, steps, exact, stages ({ spec, ok, lines = { { name, ok, text } } }), skipped: stages that did not run. It prints as a table.
---@class sgl.Rollout
sgl.Rollout = {}

---The last line of the table.
---@return string # string
function sgl.Rollout:verdict() end

---The first line that does not hold, in words; nil if all do.
---@return string # string or nil
function sgl.Rollout:first_failure() end

---The report as JSON.
---@return string # string
function sgl.Rollout:json() end

---The report as JUnit XML, a test case for each line.
---@return string # string
function sgl.Rollout:junit() end

---The report as one page with the table, loss curves, memory and the time of the steps.
---@return string # string
function sgl.Rollout:html() end

---Writes NAME.html, NAME.json and NAME.xml.
---@param name string path without an ending
---@return any # the three paths
function sgl.Rollout:write(name) end

sgl.nn.relu = sgl.nn.functional.relu
sgl.nn.tanh = sgl.nn.functional.tanh
sgl.nn.sigmoid = sgl.nn.functional.sigmoid
sgl.nn.silu = sgl.nn.functional.silu
sgl.nn.softplus = sgl.nn.functional.softplus
sgl.nn.gelu = sgl.nn.functional.gelu
sgl.nn.softmax = sgl.nn.functional.softmax
sgl.nn.log_softmax = sgl.nn.functional.log_softmax
sgl.nn.dropout = sgl.nn.functional.dropout
sgl.nn.linear = sgl.nn.functional.linear
sgl.nn.embedding = sgl.nn.functional.embedding
sgl.nn.layer_norm = sgl.nn.functional.layer_norm
sgl.nn.rms_norm = sgl.nn.functional.rms_norm
sgl.nn.group_norm = sgl.nn.functional.group_norm
sgl.nn.batch_norm = sgl.nn.functional.batch_norm
sgl.nn.scaled_dot_product_attention = sgl.nn.functional.scaled_dot_product_attention
sgl.nn.one_hot = sgl.nn.functional.one_hot
sgl.nn.conv2d = sgl.nn.functional.conv2d
sgl.nn.conv1d = sgl.nn.functional.conv1d
sgl.nn.max_pool2d = sgl.nn.functional.max_pool2d
sgl.nn.max_pool1d = sgl.nn.functional.max_pool1d
sgl.nn.avg_pool2d = sgl.nn.functional.avg_pool2d
sgl.nn.avg_pool1d = sgl.nn.functional.avg_pool1d

return sgl
