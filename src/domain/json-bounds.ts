/** Bounds of the JSON in one request. Each list, object, string, number, boolean and null counts as one value. */
export interface JsonBounds {
  values: number
  /** The keys of all objects together. */
  keys: number
  /** The nesting of lists and objects. */
  depth: number
}

/** Describes the first bound that is exceeded; undefined if none is. */
export function exceeded(counted: JsonBounds, max: JsonBounds): string | undefined {
  if (counted.depth > max.depth) return `it is nested more than ${max.depth} levels deep`
  if (counted.values > max.values) return `it has more than ${max.values} values`
  if (counted.keys > max.keys) return `it has more than ${max.keys} keys`
  return undefined
}

/** Checks a parsed value and stops at the first exceeded bound. It uses no recursion, so any depth is safe. */
export function excessOf(value: unknown, max: JsonBounds): string | undefined {
  const counted = { values: 0, keys: 0, depth: 0 }
  const waiting: unknown[] = [value]
  const depths = [0]
  while (waiting.length > 0) {
    const next = waiting.pop()
    const depth = depths.pop()!
    counted.values++
    if (typeof next === 'object' && next !== null) {
      const parts: unknown[] = Array.isArray(next) ? next : Object.values(next)
      counted.depth = depth + 1
      if (!Array.isArray(next)) counted.keys += parts.length
      // Checked before the parts are queued, because a list may have millions.
      const excess = exceeded({ ...counted, values: counted.values + waiting.length + parts.length }, max)
      if (excess !== undefined) return excess
      for (const part of parts) {
        waiting.push(part)
        depths.push(depth + 1)
      }
    }
  }
  return exceeded(counted, max)
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/**
 * Counts the values of a JSON text while its bytes arrive, so that a large text is refused before it is parsed: parsing
 * 8 MB of keys takes seconds, counting takes about 2 ns per byte. The counts of invalid JSON are approximate.
 */
export class JsonCounter implements JsonBounds {
  /** Counted as the commas and opening brackets, plus one. So an empty list or object counts as two values. */
  values = 1
  keys = 0
  depth = 0
  #nesting = 0
  #inText = false
  #escaped = false

  add(bytes: Uint8Array): void {
    for (let index = 0; index < bytes.length; index++) {
      const byte = bytes[index]!
      if (this.#inText) {
        if (this.#escaped) this.#escaped = false
        else if (byte === BACKSLASH) this.#escaped = true
        else if (byte === QUOTE) this.#inText = false
      } else if (byte === QUOTE) this.#inText = true
      else if (byte === COMMA) this.values++
      else if (byte === COLON) this.keys++
      else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
        this.values++
        if (++this.#nesting > this.depth) this.depth = this.#nesting
      } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) this.#nesting--
    }
  }
}
