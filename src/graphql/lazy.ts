/** How each property of a T is made of a Source. */
export type Makers<Source, T> = { [Name in keyof T]: (source: Source) => T[Name] }

/**
 * Objects each of whose properties is made when it is first asked for. A Source and its T cost one allocation, however
 * many properties there are.
 */
export function lazily<Source, T extends object>(makers: Makers<Source, T>): (source: Source) => T {
  class Lazy {
    readonly #source: Source

    constructor(source: Source) {
      this.#source = source
    }

    static {
      for (const name of Object.keys(makers) as (keyof T)[]) {
        const get = function (this: Lazy): T[keyof T] {
          const value = makers[name](this.#source)
          Object.defineProperty(this, name, { value })
          return value
        }
        Object.defineProperty(Lazy.prototype, name, { get })
      }
    }
  }
  return (source) => new Lazy(source) as object as T
}
