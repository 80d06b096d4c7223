const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/** How many bytes to take so that no character is cut in two. Invalid UTF-8 is taken as it is. */
export function utf8CutLength(bytes: Uint8Array): number {
  const length = bytes.length
  for (let back = 1; back <= Math.min(3, length); back++) {
    const byte = bytes[length - back] ?? 0
    if (byte < 0x80) return length
    if (byte >= 0xc0) return characterLength(byte) > back ? length - back : length
  }
  return length
}

function characterLength(lead: number): number {
  if (lead >= 0xf0) return lead > 0xf4 ? 1 : 4
  return lead >= 0xe0 ? 3 : 2
}

/** Text that PostgreSQL can store: NUL becomes U+FFFD, as does every invalid byte. */
export function readableText(bytes: Uint8Array): string {
  return decoder.decode(bytes).replaceAll('\0', '\uFFFD')
}
