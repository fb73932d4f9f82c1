-- generative.lua: generative models, as people write them (see models_spec.lua).
--
-- Each function gets `compile` and returns what turn i of its training loop does with a batch of n,
-- and the modules, optimizers and tensors whose state is compared.

local sgl = require "sgl"
local nn, optim = sgl.nn, sgl.optim

local M = {}

-- ---- VAE

local VAE = nn.module("VAE", function(self, inputs, hidden, latent)
  self.encoder = nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU())
  self.mu, self.logvar = nn.Linear(hidden, latent), nn.Linear(hidden, latent)
  self.decoder = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, inputs))
end)
function VAE:reparameterize(mu, logvar)
  if not self.training then return mu end
  local std = (0.5 * logvar):exp()
  return mu + sgl.randn_like(std) * std
end
function VAE:forward(x)
  local h = self.encoder(x)
  local mu, logvar = self.mu(h), self.logvar(h)
  return self.decoder(self:reparameterize(mu, logvar)), mu, logvar
end

function M.vae(compile)
  local model = VAE(6, 8, 2)
  local opt = optim.Adam(model:parameters(), { lr = 1e-3 })
  local step = compile(function(x, beta)
    local logits, mu, logvar = model(x)
    local bce = nn.bce_with_logits(logits, x, { reduction = "sum" })
    local kl = -0.5 * (1 + logvar - mu ^ 2 - logvar:exp()):sum()
    local loss = (bce + beta * kl) / x.shape[1]
    opt:minimize(loss)
    return loss, bce, kl
  end)
  return function(i, n) return step(sgl.rand(n, 6), math.min(1, i / 3)) end, { model, opt }
end

-- ---- VQ-VAE: the nearest code, straight-through gradients, codes that follow by averages

local Quantizer = nn.module("Quantizer", function(self, codes, width)
  self.codes = sgl.randn(codes, width)
  self.count, self.total = sgl.ones(codes), self.codes:clone()
  self.decay = 0.9
end)
function Quantizer:forward(z)
  local distance = z:square():sum(-1, { keepdim = true }) + self.codes:square():sum(-1)
    - 2 * z:matmul(self.codes:t())
  local index = distance:argmin(-1)
  local hot = nn.one_hot(index, self.codes.shape[1])
  local quantized = hot:matmul(self.codes)
  if self.training then
    local d = self.decay
    self.count:assign(self.count * d + hot:sum(1) * (1 - d))
    self.total:assign(self.total * d + hot:t():matmul(z:detach()) * (1 - d))
    self.codes:assign(self.total / self.count:unsqueeze(2))
  end
  local commit = nn.mse_loss(z, quantized:detach())
  return z + (quantized - z):detach(), commit, index
end

function M.vqvae(compile)
  local encoder, decoder = nn.Linear(6, 3), nn.Linear(3, 6)
  local quantizer = Quantizer(5, 3)
  local opt = optim.Adam({ { params = encoder:parameters() },
                           { params = decoder:parameters(), lr = 5e-4 } }, { lr = 1e-3 })
  local step = compile(function(x)
    local z, commit, index = quantizer(encoder(x))
    local loss = nn.mse_loss(decoder(z), x) + 0.25 * commit
    opt:minimize(loss)
    return loss, index
  end)
  return function(_, n) return step(sgl.randn(n, 6)) end, { encoder, decoder, quantizer, opt }
end

-- ---- DCGAN: two networks, two optimizers, one after the other in a step

local Generator = nn.module("Generator", function(self, latent)
  self.fc = nn.Linear(latent, 4 * 2 * 2)
  self.bn1, self.conv = nn.BatchNorm2d(4), nn.Conv2d(4, 3, 3, { padding = 1 })
  self.bn2, self.out = nn.BatchNorm2d(3), nn.Conv2d(3, 1, 3, { padding = 1 })
end)
function Generator:forward(z)
  local x = self.bn1(self.fc(z):view(-1, 4, 2, 2)):relu()
  x = x:repeat_interleave(2, 3):repeat_interleave(2, 4)
  x = self.bn2(self.conv(x)):relu()
  return self.out(x):tanh()
end

local Discriminator = nn.module("Discriminator", function(self)
  self.conv1 = nn.Conv2d(1, 3, 3, { stride = 2, padding = 1 })
  self.conv2, self.bn = nn.Conv2d(3, 4, 3, { padding = 1 }), nn.BatchNorm2d(4)
  self.fc = nn.Linear(4 * 2 * 2, 1)
end)
function Discriminator:forward(x)
  x = self.conv1(x):leaky_relu { slope = 0.2 }
  x = self.bn(self.conv2(x)):leaky_relu { slope = 0.2 }
  return self.fc(x:flatten(2)):squeeze(-1)
end

-- Normal weights of deviation 0.02, as in the paper.
local function initialise(m)
  local text = tostring(m)
  if text:find "^nn.Conv" then
    nn.init.normal(m.weight, 0, 0.02)
  elseif text:find "^nn.BatchNorm" then
    nn.init.normal(m.weight, 1, 0.02)
    nn.init.zeros(m.bias)
  end
end

function M.dcgan(compile)
  local G, D = Generator(3):apply(initialise), Discriminator():apply(initialise)
  local opt_g = optim.Adam(G:parameters(), { lr = 2e-4, beta1 = 0.5 })
  local opt_d = optim.Adam(D:parameters(), { lr = 2e-4, beta1 = 0.5 })
  local step = compile(function(real)
    local n = real.shape[1]
    local ones, zeros = sgl.ones(n), sgl.zeros(n)
    local fake = G(sgl.randn(n, 3))
    local loss_real = nn.bce_with_logits(D(real), ones)
    local loss_fake = nn.bce_with_logits(D(fake:detach()), zeros)
    local loss_d = loss_real + loss_fake
    opt_d:minimize(loss_d)
    local loss_g = nn.bce_with_logits(D(fake), ones)
    opt_g:minimize(loss_g)
    return loss_d, loss_g
  end)
  local fixed = sgl.randn(2, 3)
  local draw = compile(function(z)
    G:eval()
    local images = G(z)
    G:train()
    return images
  end)
  return function(_, n)
    local loss_d, loss_g = step(sgl.randn(n, 1, 4, 4):tanh())
    return loss_d, loss_g, draw(fixed)
  end, { G, D, opt_g, opt_d }
end

-- ---- WGAN with gradient penalty: a gradient in the loss, several critic steps to one

function M.wgan_gp(compile)
  local G = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 2))
  local C = nn.Sequential(nn.Linear(2, 8), nn.SiLU(), nn.Linear(8, 1))
  local opt_g = optim.Adam(G:parameters(), { lr = 1e-3, beta1 = 0, beta2 = 0.9 })
  local opt_c = optim.Adam(C:parameters(), { lr = 1e-3, beta1 = 0, beta2 = 0.9 })
  local function penalty(real, fake)
    local alpha = sgl.rand(real.shape[1], 1)
    local mixed = alpha * real + (1 - alpha) * fake
    local slope = sgl.grad(C(mixed):sum(), mixed)
    return ((slope:norm(2, 2) - 1) ^ 2):mean()
  end
  local critic = compile(function(real)
    local fake = G(sgl.randn(real.shape[1], 2)):detach()
    local loss = C(fake):mean() - C(real):mean() + 10 * penalty(real, fake)
    opt_c:minimize(loss)
    return loss
  end)
  local generator = compile(function(n)
    local loss = -C(G(sgl.randn(4, 2))):mean() * n
    opt_g:minimize(loss)
    return loss
  end)
  return function(_, n)
    local losses = {}
    for i = 1, 2 do losses[i] = critic(sgl.randn(n, 2) + 3) end
    return losses, generator(1)
  end, { G, C, opt_g, opt_c }
end

-- ---- DDPM: noise of a drawn strength is predicted; sampling goes back step by step

local function time_embedding(t, width)
  local rate = (sgl.arange(width // 2):float() * (-math.log(10000) / (width // 2))):exp()
  local angle = t:float():unsqueeze(2) * rate:unsqueeze(1)
  return sgl.cat({ angle:sin(), angle:cos() }, -1)
end

local Denoiser = nn.module("Denoiser", function(self, inputs, width)
  self.width = width
  self.time = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, width))
  self.first, self.last = nn.Linear(inputs, width), nn.Linear(width, inputs)
  self.norm = nn.GroupNorm(2, width)
end)
function Denoiser:forward(x, t)
  local h = self.first(x) + self.time(time_embedding(t, self.width))
  return self.last(nn.silu(self.norm(h)))
end

function M.ddpm(compile)
  local steps = 5
  local betas = sgl.linspace(1e-2, 0.3, steps)
  local alphas = 1 - betas
  local bars = alphas:cumprod(1)
  local model = Denoiser(2, 8)
  local ema = Denoiser(2, 8)
  ema:load_state_dict(model:state_dict())
  local opt = optim.AdamW(model:parameters(), { lr = 2e-3 })
  local train = compile(function(x)
    local t = sgl.randint(0, steps, { x.shape[1] })
    local noise = sgl.randn_like(x)
    local bar = bars[t]:unsqueeze(2)
    local noisy = bar:sqrt() * x + (1 - bar):sqrt() * noise
    local loss = nn.mse_loss(model(noisy, t), noise)
    opt:minimize(loss)
    local params = model:parameters()
    for i, p in ipairs(ema:parameters()) do p:assign(p * 0.99 + params[i] * 0.01) end
    return loss
  end)
  local sample = compile(function(x)
    for t = steps, 1, -1 do
      local index = sgl.full({ x.shape[1] }, t - 1, { dtype = "i32" })
      local noise = ema(x, index)
      x = (x - betas[t] / (1 - bars[t]):sqrt() * noise) / alphas[t]:sqrt()
      if t > 1 then x = x + betas[t]:sqrt() * sgl.randn_like(x) end
    end
    return x
  end)
  return function(_, n) return train(sgl.randn(n, 2)), sample(sgl.randn(2, 2)) end,
    { model, ema, opt }
end

-- ---- a flow of couplings: exact likelihood, inverted to sample

local Coupling = nn.module("Coupling", function(self, width, odd)
  self.net = nn.Sequential(nn.Linear(width // 2, 6), nn.Tanh(), nn.Linear(6, width))
  self.odd = odd
end)
function Coupling:forward(x, inverse)
  local a, b = x:chunk(2, -1)
  if self.odd then a, b = b, a end
  local s, t = self.net(a):chunk(2, -1)
  s = s:tanh()
  b = inverse and (b - t) * (-s):exp() or b * s:exp() + t
  if self.odd then a, b = b, a end
  return sgl.cat({ a, b }, -1), s:sum(-1)
end

local Flow = nn.module("Flow", function(self, width, layers)
  self.layers = {}
  for i = 1, layers do self.layers[i] = Coupling(width, i % 2 == 0) end
end)
function Flow:forward(x)
  local total = 0
  for _, layer in ipairs(self.layers) do
    local det
    x, det = layer(x)
    total = total + det
  end
  return x, total
end
function Flow:sample(n)
  local x = sgl.randn(n, 4)
  for i = #self.layers, 1, -1 do x = self.layers[i](x, true) end
  return x
end

function M.flow(compile)
  local model = Flow(4, 3)
  local opt = optim.Adam(model:parameters(), { lr = 1e-3 })
  local step = compile(function(x)
    local z, det = model(x)
    local prior = -0.5 * (z ^ 2 + math.log(2 * math.pi)):sum(-1)
    local loss = -(prior + det):mean()
    opt:minimize(loss, { clip_value = 0.5 })
    return loss
  end)
  local sample = compile(function() return model:sample(3) end)
  return function(_, n) return step(sgl.randn(n, 4)), sample() end, { model, opt }
end

-- ---- an autoencoder whose decoder is its encoder, transposed; noise in, sparse inside

local Tied = nn.module("Tied", function(self, inputs, hidden)
  self.weight = nn.parameter(nn.init.xavier_uniform(sgl.zeros(hidden, inputs)))
  self.inner, self.outer = nn.parameter(sgl.zeros(hidden)), nn.parameter(sgl.zeros(inputs))
end)
function Tied:forward(x)
  local code = nn.linear(x, self.weight, self.inner):sigmoid()
  return nn.linear(code, self.weight:t(), self.outer), code
end

function M.tied_autoencoder(compile)
  local model = Tied(6, 3)
  local opt = optim.SGD(model:parameters(), { lr = 0.1, momentum = 0.5 })
  local step = compile(function(x)
    local noisy = nn.dropout(x, 0.3, { training = model.training })
    local y, code = model(noisy)
    local loss = nn.mse_loss(y, x) + 1e-3 * code:abs():mean()
    opt:minimize(loss)
    return loss
  end)
  return function(_, n) return step(sgl.rand(n, 6)) end, { model, opt }
end

-- ---- a mixture of densities

local Mixture = nn.module("Mixture", function(self, hidden, parts)
  self.hidden = nn.Linear(1, hidden)
  self.pi, self.mu, self.sigma = nn.Linear(hidden, parts), nn.Linear(hidden, parts),
    nn.Linear(hidden, parts)
end)
function Mixture:forward(x)
  local h = self.hidden(x):tanh()
  return self.pi(h):log_softmax(-1), self.mu(h), nn.softplus(self.sigma(h)) + 1e-3
end

function M.mixture_density(compile)
  local model = Mixture(6, 3)
  local opt = optim.RMSprop(model:parameters(), { lr = 1e-3, momentum = 0.9 })
  local step = compile(function(x, y)
    local log_pi, mu, sigma = model(x)
    local log_p = -0.5 * ((y - mu) / sigma) ^ 2 - sigma:log() - 0.5 * math.log(2 * math.pi)
    local loss = -(log_pi + log_p):logsumexp(-1):mean()
    opt:minimize(loss)
    return loss
  end)
  return function(_, n)
    local y = sgl.rand(n, 1) * 4 - 2
    return step(y * y + sgl.randn(n, 1) * 0.1, y)
  end, { model, opt }
end

return M
