// Gives kafkajs the codecs that it does not carry itself.
'use strict'
const { CompressionCodecs, CompressionTypes } = require('kafkajs')
const lz4 = require('lz4-napi')
const snappy = require('kafkajs-snappy')
const { ZstdCodec } = require('zstd-codec')

const TYPES = { none: CompressionTypes.None, gzip: CompressionTypes.GZIP, snappy: CompressionTypes.Snappy, lz4: CompressionTypes.LZ4, zstd: CompressionTypes.ZSTD }

function install() {
  CompressionCodecs[CompressionTypes.Snappy] = snappy
  CompressionCodecs[CompressionTypes.LZ4] = () => ({
    compress: async (encoder) => lz4.compressFrameSync(encoder.buffer),
    decompress: async (buffer) => lz4.decompressFrameSync(buffer),
  })
  return new Promise((resolve) => ZstdCodec.run((zstd) => {
    const simple = new zstd.Simple()
    CompressionCodecs[CompressionTypes.ZSTD] = () => ({
      compress: async (encoder) => Buffer.from(simple.compress(encoder.buffer)),
      decompress: async (buffer) => Buffer.from(simple.decompress(buffer)),
    })
    resolve()
  }))
}

module.exports = { TYPES, install }
