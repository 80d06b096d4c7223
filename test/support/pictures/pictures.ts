import type { Page } from 'playwright-core'
import { smallPng, type Pixels } from './small-png.ts'

/** Channels are kept in steps of so much: fewer colours, and nothing that an eye sees. */
const STEP = 8

/** Compresses a screenshot into as few bytes as possible. */
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
