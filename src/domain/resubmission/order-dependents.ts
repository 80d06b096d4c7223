/** The newest session of a chain, and the chains that it waits for. */
export interface Dependent {
  id: string
  chainId: string
  dependsOn: readonly string[]
}

/**
 * In steps: the chains that a dependent waits for, as far as they are among these, are in an earlier step. Within a step
 * oldest first.
 */
export function dependentsInSteps<Each extends Dependent>(dependents: readonly Each[]): Each[][] {
  const steps: Each[][] = []
  let left = dependents.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  while (left.length > 0) {
    const open = new Set(left.map(({ chainId }) => chainId))
    const [ready, later] = partition(left, ({ dependsOn }) => !dependsOn.some((chainId) => open.has(chainId)))
    // Nothing depends on itself: a session depends on those that there were before it.
    if (ready.length === 0) throw new Error(`chains depend on each other: ${[...open].join(', ')}`)
    steps.push(ready)
    left = later
  }
  return steps
}

export function partition<Each>(list: readonly Each[], wanted: (each: Each) => boolean): [Each[], Each[]] {
  const yes: Each[] = []
  const no: Each[] = []
  for (const each of list) (wanted(each) ? yes : no).push(each)
  return [yes, no]
}
