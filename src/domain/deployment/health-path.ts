/** Printable ASCII as it stands in a request's first line; a fragment never reaches a server. */
const PATH = /^\/[!-"$-[\]-~]*$/

/** A path of the checked program and of nothing else: what begins with two slashes would name another host. */
export function isHealthPath(text: string): boolean {
  return PATH.test(text) && !text.startsWith('//')
}
