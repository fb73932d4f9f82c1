#!/usr/bin/env sgl
-- Finds where somebody speaks in a sound file, by a public speech detector in an ONNX file.
--
--   pip download --no-deps silero-vad && unzip silero_vad-*.whl 'silero_vad/data/*.onnx'
--   sgl detect.lua silero_vad/data/silero_vad.onnx SOUND.wav [THRESHOLD (0.5)]
--
-- SOUND.wav: 16-bit PCM with 8,000 or 16,000 samples a second; of several channels the first
-- counts. Prints a line for each stretch of speech: its start and end in seconds.

local sgl = require "sgl"

local WINDOW = { [16000] = 512, [8000] = 256 }   -- samples that the detector is given at a time
local CONTEXT = { [16000] = 64, [8000] = 32 }    -- and the last ones of the window before

-- The samples of a WAV file as f32 in [-1, 1), and how many there are in a second.
local function read_wav(path)
  local file <close> = assert(io.open(path, "rb"))
  local bytes = file:read "a"
  assert(bytes:sub(1, 4) == "RIFF" and bytes:sub(9, 12) == "WAVE", path .. " is no WAV file")
  local at, rate, channels, data = 13, nil, nil, nil
  while at + 7 <= #bytes and not data do
    local name, size = string.unpack("<c4I4", bytes, at)
    if name == "fmt " then
      local kind, bits
      kind, channels, rate, bits = string.unpack("<I2I2I4xxxxxxI2", bytes, at + 8)
      assert(kind == 1 and bits == 16, path .. " is not of 16-bit PCM")
    elseif name == "data" then
      data = bytes:sub(at + 8, at + 7 + size)
    end
    at = at + 8 + size + size % 2
  end
  assert(rate and data and WINDOW[rate], path .. " needs 8,000 or 16,000 samples a second")
  local samples, frame = {}, 2 * channels
  for i = 1, #data // frame do
    samples[i] = string.unpack("<i2", data, (i - 1) * frame + 1) / 32768
  end
  return samples, rate
end

-- The probability of speech in each window.
local function probabilities(model, samples, rate)
  local window, context, list = WINDOW[rate], CONTEXT[rate], {}
  local detect = sgl.compile(function(x, state) return model(x, state, rate) end)
  local state = sgl.zeros(2, 1, 128)
  for first = 1, #samples, window do
    local x = {}
    for i = first - context, first + window - 1 do x[#x + 1] = (samples[i] or 0) + 0.0 end
    local p
    p, state = detect(sgl.tensor({ x }, "f32"), state)
    list[#list + 1] = p:item()
  end
  return list
end

local path, sound, threshold = arg[1], arg[2], tonumber(arg[3] or 0.5)
if not path or not sound then error("usage: sgl detect.lua MODEL.onnx SOUND.wav [THRESHOLD]", 0) end
local model = assert(sgl.import(path))
local samples, rate = read_wav(sound)
local list = probabilities(model, samples, rate)
local start, most = nil, 0
for i = 1, #list + 1 do
  local speaks = list[i] and list[i] >= threshold
  most = math.max(most, list[i] or 0)
  local time = (i - 1) * WINDOW[rate] / rate
  if speaks and not start then start = time end
  if not speaks and start then
    print(("speech from %.2f s to %.2f s"):format(start, time))
    start = nil
  end
end
print(("%.2f s, %d windows, speech at most %.3f likely"):format(#samples / rate, #list,
  most))
