import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { readSourceFiles, ROOT } from '../../guard/source-files.ts'

/** Marks the copy of a module that also exports what some of its expressions are. */
const ASKED = '?statements='

/** The values of expressions that name only what stands at the level of a module, by module and expression. */
export async function evaluateInModules(
  asked: ReadonlyMap<string, ReadonlySet<string>>,
): Promise<Map<string, Map<string, unknown>>> {
  const hooks = registerHooks({
    load(url, context, next) {
      const loaded = next(url.split(ASKED)[0]!, context)
      if (!url.includes(ASKED)) return loaded
      const expressions = JSON.parse(decodeURIComponent(url.split(ASKED)[1]!)) as string[]
      const list = expressions.map((expression) => `[${JSON.stringify(expression)}, ${expression}]`)
      return { ...loaded, source: `${textOf(loaded.source)}\nexport const askedFor = new Map([${list.join()}])` }
    },
  })
  try {
    const modules = [...asked].map(async ([path, expressions]) => {
      const query = encodeURIComponent(JSON.stringify([...expressions]))
      const module = (await import(`${pathToFileURL(join(ROOT, path)).href}${ASKED}${query}`)) as {
        askedFor: Map<string, unknown>
      }
      return [path, module.askedFor] as const
    })
    return new Map(await Promise.all(modules))
  } finally {
    hooks.deregister()
  }
}

/** The constants at the level of modules that are named as statements: `SQL`, `LOCK_SQL`. */
export async function statementConstants(): Promise<Map<string, Set<string>>> {
  const files = await readSourceFiles()
  const found = files.map(({ path, text }) => {
    const names = [...text.matchAll(/^(?:export )?const ((?:[A-Z_]+_)?SQL)\b/gm)].map(([, name]) => name!)
    return [path, new Set(names)] as const
  })
  return new Map(found.filter(([, names]) => names.size > 0))
}

function textOf(source: string | ArrayBuffer | NodeJS.TypedArray | undefined | null): string {
  return typeof source === 'string' ? source : new TextDecoder().decode(source ?? undefined)
}
