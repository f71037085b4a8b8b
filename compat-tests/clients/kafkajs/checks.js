// Runs checks and reports them as harness/client_programs.py says; knows no Kafka library.
'use strict'
const crypto = require('crypto')

const CODECS = ['none', 'gzip', 'snappy', 'lz4', 'zstd']
const RECORDS = 200
const LARGE = 900 * 1024
const TOO_LARGE = 2 * 1024 * 1024
const TIMEOUT_MS = 30000

const unique = (name) => `${name}-${crypto.randomBytes(4).toString('hex')}`

// Values that compress, one empty, one with every byte in it.
function sampleRecords(count) {
  const records = []
  for (let number = 0; number < count; number++) {
    records.push({ key: `key-${number}`, value: Buffer.from(`value-${number} `.repeat(10)) })
  }
  records[1].value = Buffer.alloc(0)
  records[2].value = Buffer.from(Array.from({ length: 256 }, (_, value) => value))
  return records
}

function expect(actual, wanted, what) {
  const texts = [actual, wanted].map((value) => JSON.stringify(value))
  if (texts[0] !== texts[1]) throw new Error(`${what} is ${texts[0]}, not ${texts[1]}`)
}

// The action must fail with an error whose type, name or text has the wanted word in it.
async function expectError(wanted, action) {
  let result
  try {
    result = await action()
  } catch (error) {
    const nested = [...(error.errors || []), ...(error.groups || []).map((each) => each.error), ...(error.partitions || []).map((each) => each.error)]
      .map((each) => `${each.type} ${each.message}`).join(' ')
    const text = `${error.name} ${error.type} ${error.code} ${error.message} ${error.cause && error.cause.type} ${nested}`
    if (!text.includes(wanted)) throw new Error(`the error is ${text}, not ${wanted}`)
    return
  }
  throw new Error(`no ${wanted}, but ${JSON.stringify(result)}`)
}

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

async function until(condition, what) {
  const deadline = Date.now() + TIMEOUT_MS
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`${what} did not happen in time`)
    await sleep(50)
  }
}

async function runSuite(checks) {
  for (const [name, action] of checks) {
    const started = Date.now()
    try {
      await action()
      console.log(`ok ${name}`)
    } catch (error) {
      console.log(`failed ${name}: ${String(error.stack).split('\n').slice(0, 4).join(' ')}`)
    }
    console.log(`# ${Date.now() - started} ms`)
  }
}

module.exports = { CODECS, RECORDS, LARGE, TOO_LARGE, unique, sampleRecords, expect, expectError, until, runSuite }
