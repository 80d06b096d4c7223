/** Asks again until the answer is neither null, undefined nor false, without a guess at how long that takes. */
export async function eventually<T>(
  ask: () => T | Promise<T>,
  options: { withinMs?: number; what?: string } = {},
): Promise<NonNullable<Exclude<T, false>>> {
  const { withinMs = 40_000, what = ask.toString() } = options
  const deadline = performance.now() + withinMs
  for (;;) {
    const answer = await ask()
    if (answer !== null && answer !== undefined && answer !== false) return answer as NonNullable<Exclude<T, false>>
    if (performance.now() > deadline) throw new Error(`not within ${withinMs} ms: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
