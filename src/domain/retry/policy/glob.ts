/**
 * Whether the whole text matches a pattern of `*` (any run) and `?` (any one character). It backtracks to the last `*`
 * only, so it takes at most pattern length × text length steps.
 */
export function globMatches(pattern: string, text: string): boolean {
  const wanted = [...pattern]
  const given = [...text]
  let at = 0
  let star = -1
  let starAt = 0
  for (let i = 0; i < given.length;) {
    if (wanted[at] === '*') {
      star = at++
      starAt = i
    } else if (at < wanted.length && (wanted[at] === '?' || wanted[at] === given[i])) {
      at++
      i++
    } else if (star >= 0) {
      at = star + 1
      i = ++starAt
    } else {
      return false
    }
  }
  while (wanted[at] === '*') at++
  return at === wanted.length
}
