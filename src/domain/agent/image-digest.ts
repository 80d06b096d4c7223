/** What an image is, whatever its name stands for. */
export function isImageDigest(value: unknown): value is string {
  return typeof value === 'string' && /^sha256:[0-9a-f]{64}$/.test(value)
}
