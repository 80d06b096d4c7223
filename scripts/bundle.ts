import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { rolldown } from 'rolldown'
import { bundlePath, PROGRAM } from '../src/program/bundle.ts'

const KEPT_MS = 24 * 3_600_000
/**
 * Packages that are not bundled: they are large, loaded only at their first use, and work the same outside the bundle.
 */
const LEFT_OUT = ['@graphql-yoga/render-graphiql', /^@prisma\/schema-engine-wasm/, /query_compiler_\w+\.postgresql/]

/**
 * Bundles the program, which then starts in half the time: Node loads a few files instead of 1,500. Without a bundle of
 * exactly the present sources, the sources themselves are run.
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
    // Other users may run the program.
    await chmod(draft, 0o755)
    await writeProgram(root, { to: draft, external: LEFT_OUT, directoryOf: (id) => JSON.stringify(dirname(id)) })
    await rename(draft, dirname(entry)).catch((error: NodeJS.ErrnoException) => {
      // Another process was first, with the same result.
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
    })
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

/** The bundle's place in the package. Files beside it have the same relative paths as in the repository. */
const RELEASED = 'dist/program'
/**
 * Packages that stay outside of the bundle: one finds its WebAssembly by its package name, and GraphiQL's page is in
 * the web UI's bundle.
 */
const BESIDE_RELEASE = [/^@prisma\/schema-engine-wasm/, '@graphql-yoga/render-graphiql']

/** Bundles the program for the package, which contains neither the sources nor the packages that are bundled. */
export async function releaseProgram(root: string): Promise<void> {
  const to = join(root, RELEASED)
  await rm(to, { recursive: true, force: true })
  const directoryOf = (id: string) => {
    const path = relative(to, dirname(id)).replaceAll('\\', '/')
    return `(import.meta.dirname + ${JSON.stringify(`/${path}`)})`
  }
  await writeProgram(root, { to, external: BESIDE_RELEASE, directoryOf })
}

async function writeProgram(
  root: string,
  options: {
    to: string
    external: (string | RegExp)[]
    /** Returns JavaScript for a module's directory, because files that a module finds beside itself are not moved. */
    directoryOf: (id: string) => string
  },
): Promise<void> {
  const { to, external, directoryOf } = options
  const transform = (code: string, id: string) =>
    code.includes('import.meta.dirname') ? code.replaceAll('import.meta.dirname', directoryOf(id)) : null
  await using build = await rolldown({
    input: join(root, 'src/program/reprise.ts'),
    platform: 'node',
    external,
    plugins: [{ name: 'directories', transform }],
    logLevel: 'silent',
  })
  await build.write({ dir: to, entryFileNames: PROGRAM, chunkFileNames: '[name]-[hash].mjs' })
}

/**
 * Removes old bundles. A running server has loaded everything that it needs of its bundle; a starting one does so
 * within moments.
 */
export async function removeOld(bundles: string): Promise<void> {
  for (const name of await readdir(bundles)) {
    // Another process may remove it first.
    const found = await stat(join(bundles, name)).catch(() => null)
    if (found && Date.now() - found.mtimeMs > KEPT_MS) await rm(join(bundles, name), { recursive: true, force: true })
  }
}
