import { crc32, deflateSync } from 'node:zlib'

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const TRUE_COLOUR = 2
const PALETTE = 3
const COLOURS_MAX = 256

export interface Pixels {
  width: number
  height: number
  /** Red, green, blue and alpha of each. */
  data: Uint8Array
}

/** A third of what a browser writes: by a palette where the colours are few, and without transparency. */
export function smallPng({ width, height, data }: Pixels): Buffer {
  const indices = new Map<number, number>()
  const colourAt = (at: number) => (data[at]! << 16) | (data[at + 1]! << 8) | data[at + 2]!
  for (let at = 0; at < data.length && indices.size <= COLOURS_MAX; at += 4) {
    const colour = colourAt(at)
    if (!indices.has(colour)) indices.set(colour, indices.size)
  }
  const isFew = indices.size <= COLOURS_MAX
  const bytesEach = isFew ? 1 : 3
  const rows = Buffer.alloc(height * (1 + width * bytesEach))
  for (let y = 0, to = 0; y < height; y++) {
    to++
    for (let x = 0; x < width; x++, to += bytesEach) {
      const colour = colourAt((y * width + x) * 4)
      rows.writeUIntBE(isFew ? indices.get(colour)! : colour, to, bytesEach)
    }
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, isFew ? PALETTE : TRUE_COLOUR], 8)
  const palette = Buffer.from(
    [...indices.keys()].flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]),
  )
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    ...(isFew ? [chunk('PLTE', palette)] : []),
    chunk('IDAT', deflateSync(rows, { level: 9, memLevel: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const framed = Buffer.alloc(body.length + 8)
  framed.writeUInt32BE(data.length, 0)
  framed.set(body, 4)
  framed.writeUInt32BE(crc32(body), body.length + 4)
  return framed
}
