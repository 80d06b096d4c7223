import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { rolldown } from 'rolldown'
import { bundlePath } from '../src/bundle.ts'

const KEPT_MS = 24 * 3_600_000
/** Large, loaded at the first use, and the same from wherever they are loaded. */
const LEFT_OUT = ['@graphql-yoga/render-graphiql', /^@prisma\/schema-engine-wasm/, /query_compiler_\w+\.postgresql/]

/**
 * Bundles the program, which then starts in half the time: Node loads a few files instead of 1,500. The sources remain
 * what counts: they are run themselves whenever there is no bundle of exactly them.
 */
export async function bundleProgram(root: string): Promise<void> {
  const entry = bundlePath(root)
  if (existsSync(entry)) return
  console.log('bundling the program')
  const bundles = join(dirname(entry), '..')
  await mkdir(bundles, { recursive: true })
  await removeOld(bundles)
  const draft = await mkdtemp(join(bundles, 'draft-'))
  try {
    // Others may run what is not theirs.
    await chmod(draft, 0o755)
    await using build = await rolldown({
      input: join(root, 'src/reprise.ts'),
      platform: 'node',
      external: LEFT_OUT,
      plugins: [{ name: 'directories', transform: withDirectory }],
      logLevel: 'silent',
    })
    await build.write({ dir: draft, entryFileNames: basename(entry), chunkFileNames: '[name]-[hash].mjs' })
    await rename(draft, dirname(entry)).catch((error: NodeJS.ErrnoException) => {
      // Another process was first, with the same result.
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
    })
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

/** Files that a module finds beside itself stay where they are. */
function withDirectory(code: string, id: string): string | null {
  if (!code.includes('import.meta.dirname')) return null
  return code.replaceAll('import.meta.dirname', JSON.stringify(dirname(id)))
}

/** A server that runs has loaded all that it needs of its bundle; one that starts does so within moments. */
export async function removeOld(bundles: string): Promise<void> {
  for (const name of await readdir(bundles)) {
    // Another process may remove it first.
    const found = await stat(join(bundles, name)).catch(() => null)
    if (found && Date.now() - found.mtimeMs > KEPT_MS) await rm(join(bundles, name), { recursive: true, force: true })
  }
}
