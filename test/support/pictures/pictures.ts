import type { Page } from 'playwright-core'
import { crc32, deflateSync } from 'node:zlib'

/** Channels are kept in steps of so much: fewer colours, and nothing that an eye sees. */
const STEP = 8

/** Encodes a screenshot in few bytes. */
export async function reduced(page: Page, png: Buffer): Promise<Buffer> {
  const { width, height, data } = await pixelsOf(page, png)
  return smallPng({ width, height, data: data.map((channel) => Math.min(255, Math.round(channel / STEP) * STEP)) })
}

/** The share of pixels that differ by more than that, 1 if one has another size. */
export async function differenceOf(page: Page, one: Buffer, other: Buffer): Promise<number> {
  const [a, b] = await Promise.all([pixelsOf(page, one), pixelsOf(page, other)])
  if (a.width !== b.width || a.height !== b.height) return 1
  let different = 0
  for (let at = 0; at < a.data.length; at += 4) {
    if ([0, 1, 2].some((n) => Math.abs(a.data[at + n]! - b.data[at + n]!) > STEP)) different++
  }
  return different / (a.width * a.height)
}

/** The browser itself reads them. */
async function pixelsOf(page: Page, png: Buffer): Promise<Pixels> {
  const { width, height, base64 } = await page.evaluate(async (encoded) => {
    const bytes = Uint8Array.from(atob(encoded), (character) => character.codePointAt(0)!)
    const bitmap = await createImageBitmap(new Blob([bytes], { type: 'image/png' }))
    const canvas = new OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d')!
    canvas.drawImage(bitmap, 0, 0)
    const { data } = canvas.getImageData(0, 0, bitmap.width, bitmap.height)
    const parts: string[] = []
    for (let at = 0; at < data.length; at += 32_768) parts.push(String.fromCodePoint(...data.subarray(at, at + 32_768)))
    return { width: bitmap.width, height: bitmap.height, base64: btoa(parts.join('')) }
  }, png.toString('base64'))
  return { width, height, data: new Uint8Array(Buffer.from(base64, 'base64')) }
}

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const TRUE_COLOUR = 2
const PALETTE = 3
const COLOURS_MAX = 256

interface Pixels {
  width: number
  height: number
  /** Red, green, blue and alpha of each. */
  data: Uint8Array
}

/** A third of what a browser writes: by a palette where the colours are few, and without transparency. */
function smallPng({ width, height, data }: Pixels): Buffer {
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
