/**
 * The work of a timer or of an event's listener, where nobody catches what it throws: such an error would end the
 * process, and all that it does. It goes to `failed` instead, and the timer or the listener goes on.
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
