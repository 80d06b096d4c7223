import { createHash } from 'node:crypto'

/** The hash of the UTF-8 text, as a 160-bit big-endian integer. */
export function sha1(text: string): bigint {
  return BigInt(`0x${createHash('sha1').update(text, 'utf8').digest('hex')}`)
}
