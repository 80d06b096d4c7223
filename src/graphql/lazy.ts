/** Creates each property of a T from a Source. */
export type Makers<Source, T> = { [Name in keyof T]: (source: Source) => T[Name] }

/** Makes objects whose properties are created on first use, so that an object costs one allocation until then. */
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
