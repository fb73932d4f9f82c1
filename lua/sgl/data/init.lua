-- data/init.lua: sgl.data: files to batches.
--
-- In:    one file here for each kind of file.
-- Out:   the module table with csv, idx, text, safetensors, iterator and dataset.
-- Holds: a reader returns nil, message, code for a missing file and raises for a damaged one.
local dataset = require "sgl.data.dataset"
require "sgl.data.csv"
require "sgl.data.idx"
require "sgl.data.text"
require "sgl.data.safetensors"
require "sgl.data.iterator"

return dataset.root
