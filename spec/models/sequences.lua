-- sequences.lua: models of text and other sequences, as people write them (see models_spec.lua).
--
-- Each function gets `compile` and returns what turn i of its training loop does with a batch of n,
-- and the modules, optimizers and tensors whose state is compared.

local sgl = require "sgl"
local nn, optim = sgl.nn, sgl.optim

local M = {}

-- Random token ids, and the same shifted by one.
local function text(batch, length, vocab)
  local ids = sgl.randint(0, vocab, { batch, length + 1 })
  return ids[{ {}, { 1, length } }], ids[{ {}, { 2, length + 1 } }]
end

-- ---- GPT: weight decay for matrices alone, warm-up and cosine, clipping, dropout

local Block = nn.module("Block", function(self, width, heads, dropout)
  self.ln1 = nn.LayerNorm(width)
  self.attn = nn.MultiheadAttention(width, heads, { causal = true, dropout = dropout })
  self.ln2 = nn.LayerNorm(width)
  self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width),
    nn.Dropout(dropout))
end)
function Block:forward(x)
  x = x + self.attn(self.ln1(x))
  return x + self.mlp(self.ln2(x))
end

local GPT = nn.module("GPT", function(self, cfg)
  self.cfg = cfg
  self.wte = nn.Embedding(cfg.vocab, cfg.width)
  self.wpe = nn.Embedding(cfg.length, cfg.width)
  self.drop = nn.Dropout(cfg.dropout)
  self.blocks = nn.ModuleList()
  for _ = 1, cfg.layers do self.blocks:append(Block(cfg.width, cfg.heads, cfg.dropout)) end
  self.ln_f = nn.LayerNorm(cfg.width)
  self.head = nn.Linear(cfg.width, cfg.vocab, { bias = false })
  self.head.weight = self.wte.weight
end)
function GPT:forward(ids, targets)
  local t = ids.shape[2]
  assert(t <= self.cfg.length, "the text is longer than the context")
  local x = self.drop(self.wte(ids) + self.wpe(sgl.arange(t)))
  for _, block in ipairs(self.blocks) do x = block(x) end
  local logits = self.head(self.ln_f(x))
  local loss
  if targets ~= nil then
    loss = nn.cross_entropy(logits:view(-1, logits.shape[3]), targets:view(-1))
  end
  return logits, loss
end

function M.gpt(compile)
  local model = GPT { vocab = 11, width = 8, heads = 2, layers = 2, length = 6, dropout = 0.1 }
  local decay, rest = {}, {}
  for _, p in ipairs(model:parameters()) do
    if p.ndim >= 2 then decay[#decay + 1] = p else rest[#rest + 1] = p end
  end
  local opt = optim.AdamW({ { params = decay, weight_decay = 0.1 },
                            { params = rest, weight_decay = 0 } },
    { lr = optim.schedule.cosine(3e-3, 100, { warmup = 2 }), beta2 = 0.95 })
  local step = compile(function(x, y)
    local _, loss = model(x, y)
    local norm = opt:minimize(loss, { clip_norm = 1.0 })
    return loss, norm
  end)
  return function(_, n) return step(text(n, 6, 11)) end, { model, opt }
end

-- ---- a GRU language model with tied weights

local GRULanguage = nn.module("GRULanguage", function(self, vocab, width)
  self.embed = nn.Embedding(vocab, width)
  self.gru = nn.GRU(width, width, { layers = 2, dropout = 0.2 })
  self.bias = nn.parameter(sgl.zeros(vocab))
end)
function GRULanguage:forward(ids, h)
  local y, last = self.gru(self.embed(ids), h)
  return nn.linear(y, self.embed.weight, self.bias), last
end

function M.gru_language(compile)
  local model = GRULanguage(9, 6)
  local opt = optim.Adam(model:parameters(), { lr = 1e-2 })
  local train = compile(function(x, y)
    model:train()
    local logits = model(x)
    local loss = nn.cross_entropy(logits:flatten(1, 2), y:flatten())
    opt:minimize(loss)
    return loss, loss:exp()
  end)
  local sample = compile(function(id, h)
    model:eval()
    local logits, state = model(id, h)
    local noise = -(-(sgl.rand(1, 9) + 1e-9):log()):log()
    return (logits[{ {}, -1 }] + noise):argmax(-1), state
  end)
  return function(_, n)
    local loss, perplexity = train(text(n, 5, 9))
    local id, h, said = sgl.zeros(1, 1, { dtype = "i32" }), sgl.zeros(2, 1, 6), {}
    for i = 1, 3 do
      local next_id
      next_id, h = sample(id, h)
      said[i], id = next_id, next_id:view(1, 1)
    end
    return loss, perplexity, said
  end, { model, opt }
end

-- ---- a translator: LSTM encoder, attention, LSTM decoder with teacher forcing

local Encoder = nn.module("Encoder", function(self, vocab, width)
  self.embed, self.lstm = nn.Embedding(vocab, width), nn.LSTM(width, width)
end)
function Encoder:forward(ids) return self.lstm(self.embed(ids)) end

local Decoder = nn.module("Decoder", function(self, vocab, width)
  self.embed = nn.Embedding(vocab, width)
  self.lstm = nn.LSTM(2 * width, width)
  self.query = nn.Linear(width, width, { bias = false })
  self.out = nn.Linear(2 * width, vocab)
end)
function Decoder:forward(id, state, memory, mask)
  local query = self.query(state[1][-1])
  local scores = (memory * query:unsqueeze(2)):sum(-1):masked_fill(~mask, -1e9)
  local context = (scores:softmax(-1):unsqueeze(-1) * memory):sum(2)
  local x = sgl.cat({ self.embed(id), context }, -1):unsqueeze(2)
  local y
  y, state = self.lstm(x, state)
  return self.out(sgl.cat({ y:squeeze(2), context }, -1)), state
end

function M.seq2seq(compile)
  local vocab, PAD, START = 8, 0, 1
  local encoder, decoder = Encoder(vocab, 6), Decoder(vocab, 6)
  local params = encoder:parameters()
  for _, p in ipairs(decoder:parameters()) do params[#params + 1] = p end
  local opt = optim.Adam(params, { lr = 1e-2 })
  local step = compile(function(source, target, teacher)
    local memory, state = encoder(source)
    local mask = source:ne(PAD)
    local id = sgl.full({ source.shape[1] }, START, { dtype = "i32" })
    local loss = 0
    for t = 1, target.shape[2] do
      local logits
      logits, state = decoder(id, state, memory, mask)
      loss = loss + nn.cross_entropy(logits, target[{ {}, t }], { ignore_index = PAD })
      if teacher then
        id = target[{ {}, t }]
      else
        id = logits:detach():argmax(-1)
      end
    end
    loss = loss / target.shape[2]
    opt:minimize(loss, { clip_norm = 5 })
    return loss
  end)
  return function(i, n)
    local source = sgl.randint(1, vocab, { n, 4 })
    source[{ 2, { 3, 4 } }] = PAD
    return step(source, sgl.randint(1, vocab, { n, 3 }), i % 2 == 1)
  end, { encoder, decoder, opt }
end

-- ---- truncated back-propagation: the state goes on from window to window

local Recurrent = nn.module("Recurrent", function(self, inputs, hidden)
  self.cell = nn.Linear(inputs + hidden, hidden)
  self.out = nn.Linear(hidden, inputs)
  self.hidden = hidden
end)
function Recurrent:forward(x, h)
  h = h or sgl.zeros(x.shape[1], self.hidden)
  local ys = {}
  for t = 1, x.shape[2] do
    h = self.cell(sgl.cat({ x[{ {}, t }], h }, -1)):tanh()
    ys[#ys + 1] = self.out(h)
  end
  return sgl.stack(ys, 2), h
end

function M.tbptt(compile)
  local model = Recurrent(3, 5)
  local opt = optim.SGD(model:parameters(), { lr = 0.05, momentum = 0.9 })
  local step = compile(function(x, y, h)
    local out, last = model(x, h)
    local loss = nn.mse_loss(out, y)
    opt:minimize(loss)
    return loss, last:detach()
  end)
  local h
  return function(i)
    local series = (sgl.arange(10) * 0.3 + i):sin():view(1, 10, 1):expand(2, 10, 3)
    local loss
    loss, h = step(series[{ {}, { 1, 4 } }], series[{ {}, { 2, 5 } }], h)
    return loss, h
  end, { model, opt }
end

-- ---- the same with the state kept in the module

local Stateful = nn.module("Stateful", function(self, inputs, hidden)
  self.rnn, self.out = nn.GRU(inputs, hidden), nn.Linear(hidden, 1)
  self.last = false
end)
function Stateful:forward(x)
  local y, last = self.rnn(x, self.last or nil)
  self.last = last:detach()
  return self.out(y)
end

function M.stateful(compile)
  local model = Stateful(2, 4)
  local opt = optim.RMSprop(model:parameters(), { lr = 1e-2 })
  local step = compile(function(x, y)
    local loss = nn.huber_loss(model(x), y)
    opt:minimize(loss)
    return loss
  end)
  return function()
    local x = sgl.randn(3, 3, 2)
    return step(x, x:sum(-1, { keepdim = true })), model.last
  end, { model, opt }
end

-- ---- a classifier of sentences of different lengths, padded, with a mask

local Classifier = nn.module("Classifier", function(self, vocab, width, classes)
  self.embed = nn.Embedding(vocab, width)
  self.lstm = nn.LSTM(width, width, { layers = 2 })
  self.score = nn.Linear(width, 1)
  self.out = nn.Linear(width, classes)
end)
function Classifier:forward(ids, lengths)
  local y = self.lstm(self.embed(ids))
  local mask = sgl.arange(ids.shape[2]):unsqueeze(1):lt(lengths:unsqueeze(2))
  local weights = self.score(y):squeeze(-1):masked_fill(~mask, -math.huge):softmax(-1)
  return self.out((weights:unsqueeze(-1) * y):sum(2))
end

function M.classifier(compile)
  local model = Classifier(10, 6, 3)
  local opt = optim.Adam(model:parameters(), { weight_decay = 1e-4 })
  local step = compile(function(ids, lengths, labels)
    local logits = model(ids, lengths)
    local loss = nn.cross_entropy(logits, labels, { label_smoothing = 0.1 })
    opt:minimize(loss)
    local correct = logits:argmax(-1):eq(labels):sum()
    return { loss = loss, correct = correct }
  end)
  return function(_, n)
    return step(sgl.randint(0, 10, { n, 5 }), sgl.randint(1, 6, { n }), sgl.randint(0, 3, { n }))
  end, { model, opt }
end

-- ---- a convolutional classifier of text: windows of several widths, the maximum over time

local TextCNN = nn.module("TextCNN", function(self, vocab, width, classes)
  self.embed = nn.Embedding(vocab, width)
  self.convs = nn.ModuleList()
  for _, k in ipairs { 2, 3, 4 } do self.convs:append(nn.Conv1d(width, 5, k)) end
  self.drop = nn.Dropout(0.5)
  self.out = nn.Linear(3 * 5, classes)
end)
function TextCNN:forward(ids)
  local x = self.embed(ids):transpose(2, 3)
  local pooled = {}
  for i, conv in ipairs(self.convs) do pooled[i] = conv(x):relu():max(3) end
  return self.out(self.drop(sgl.cat(pooled, 2)))
end

function M.text_cnn(compile)
  local model = TextCNN(12, 4, 2)
  local opt = optim.Adagrad(model:parameters(), { lr = 0.05 })
  local step = compile(function(ids, labels)
    local loss = nn.cross_entropy(model(ids), labels)
    opt:minimize(loss)
    return loss
  end)
  return function(_, n)
    return step(sgl.randint(0, 12, { n, 7 }), sgl.randint(0, 2, { n }))
  end, { model, opt }
end

-- ---- word2vec: skip-gram with negative samples

function M.word2vec(compile)
  local words, width, negatives = 15, 4, 3
  local centre, context = nn.Embedding(words, width), nn.Embedding(words, width)
  local opt = optim.SGD({ centre.weight, context.weight }, { lr = 0.5 })
  local step = compile(function(word, near)
    local v, u = centre(word), context(near)
    local positive = (v * u):sum(-1):logsigmoid()
    local noise = context(sgl.randint(0, words, { word.shape[1], negatives }))
    local negative = (-noise:matmul(v:unsqueeze(-1)):squeeze(-1)):logsigmoid():sum(-1)
    local loss = -(positive + negative):mean()
    opt:minimize(loss)
    return loss
  end)
  return function(_, n)
    return step(sgl.randint(0, words, { n }), sgl.randint(0, words, { n }))
  end, { centre, context, opt }
end

-- ---- a transformer that translates: encoder, decoder, masks, label smoothing

local function feed(width)
  return nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width))
end
local EncoderLayer = nn.module("EncoderLayer", function(self, width)
  self.attend, self.feed = nn.MultiheadAttention(width, 2), feed(width)
  self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
end)
function EncoderLayer:forward(x, mask)
  x = self.norm1(x + self.attend(x, x, x, { mask = mask }))
  return self.norm2(x + self.feed(x))
end
local DecoderLayer = nn.module("DecoderLayer", function(self, width)
  self.attend, self.cross = nn.MultiheadAttention(width, 2, { causal = true }),
    nn.MultiheadAttention(width, 2)
  self.feed = feed(width)
  self.norm1, self.norm2, self.norm3 = nn.LayerNorm(width), nn.LayerNorm(width), nn.LayerNorm(width)
end)
function DecoderLayer:forward(x, memory, mask)
  x = self.norm1(x + self.attend(x))
  x = self.norm2(x + self.cross(x, memory, memory, { mask = mask }))
  return self.norm3(x + self.feed(x))
end

-- Sines and cosines of the positions.
local function positions(length, width)
  local at = sgl.arange(length):float():unsqueeze(2)
  local rate = (sgl.arange(0, width, 2):float() * (-math.log(10000) / width)):exp()
  return sgl.stack({ (at * rate):sin(), (at * rate):cos() }, 3):flatten(2)
end

local Translator = nn.module("Translator", function(self, vocab, width, length)
  self.embed = nn.Embedding(vocab, width)
  self.positions = positions(length, width)
  self.encoder = nn.ModuleList(EncoderLayer(width), EncoderLayer(width))
  self.decoder = nn.ModuleList(DecoderLayer(width))
  self.out = nn.Linear(width, vocab)
end)
function Translator:embedding(ids)
  local x = self.embed(ids) * math.sqrt(self.embed.weight.shape[2])
  return x + self.positions[{ { 1, ids.shape[2] } }]
end
function Translator:forward(source, target)
  local mask = source:ne(0):unsqueeze(2):unsqueeze(2)
  local memory = self:embedding(source)
  for _, layer in ipairs(self.encoder) do memory = layer(memory, mask) end
  local x = self:embedding(target)
  for _, layer in ipairs(self.decoder) do x = layer(x, memory, mask) end
  return self.out(x)
end

function M.transformer(compile)
  local model = Translator(10, 8, 6)
  local opt = optim.Adam(model:parameters(), { beta2 = 0.98, eps = 1e-9, lr = 1e-3 })
  local step = compile(function(source, target)
    local length = target.shape[2]
    local logits = model(source, target[{ {}, { 1, length - 1 } }])
    local loss = nn.cross_entropy(logits:transpose(2, 3), target[{ {}, { 2, length } }],
      { ignore_index = 0, label_smoothing = 0.1 })
    opt:minimize(loss)
    return loss
  end)
  return function(_, n)
    return step(sgl.randint(0, 10, { n, 5 }), sgl.randint(1, 10, { n, 6 }))
  end, { model, opt }
end

return M
