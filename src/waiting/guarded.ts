/**
 * Wraps the work of a timer or an event listener, where an uncaught error would end the process. The error is passed to
 * `failed` instead, and the timer or listener continues.
 */
export function guarded<Arguments extends unknown[]>(
  work: (...given: Arguments) => unknown,
  failed: (error: unknown) => void,
): (...given: Arguments) => void {
  return (...given) => {
    try {
      const result = work(...given)
      if (result instanceof Promise) result.catch(failed)
    } catch (error) {
      failed(error)
    }
  }
}
