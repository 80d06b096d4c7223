/** The printable ASCII characters allowed in a request line; a fragment would never reach the server. */
const PATH = /^\/[!-"$-[\]-~]*$/

/** A path on the checked program only: one that begins with two slashes would name another host. */
export function isHealthPath(text: string): boolean {
  return PATH.test(text) && !text.startsWith('//')
}
