// Prepares the working directory. It runs before every npm script, even under the oldest Node that npm may have, and
// reports if that is too old. It generates the Prisma client and the Pothos types if they are missing or stale, then
// bundles the program, the Python client and the web UI.
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { removeWrites } from './read-only-client.mjs'

const NODE_MIN = [22, 18]
const ROOT = fileURLToPath(new URL('..', import.meta.url))
const GENERATED = join(ROOT, 'src/generated')
const DRAFTS = join(ROOT, '.cache')
const FINGERPRINT = 'fingerprint'

refuseOldNode()
if (!existsSync(join(ROOT, 'node_modules/prisma'))) stop('The packages are not installed: run `npm ci`.')
const wanted = await fingerprint()
if (process.argv.includes('--force') || (await presentFingerprint()) !== wanted) await generate(wanted)
await bundle()

function refuseOldNode() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major > NODE_MIN[0] || (major === NODE_MIN[0] && minor >= NODE_MIN[1])) return
  stop(
    `This is Node ${process.versions.node}, but Node ${NODE_MIN.join('.')} or later is needed.\n` +
      'On Linux and Windows `npm ci` brings one along, unless optional packages are left out, and npm scripts use it.\n' +
      'Elsewhere install it from https://nodejs.org.',
  )
}

async function fingerprint() {
  const inputs = [
    'prisma/schema.prisma',
    'node_modules/prisma/package.json',
    'node_modules/@pothos/plugin-prisma/package.json',
    'scripts/setup.mjs',
    'scripts/read-only-client.mjs',
  ]
  const hash = createHash('sha256')
  for (const path of inputs) hash.update(await readFile(join(ROOT, path)))
  return hash.digest('hex')
}

function presentFingerprint() {
  return readFile(join(GENERATED, FINGERPRINT), 'utf8').catch(() => null)
}

/**
 * Generates into a temporary directory and renames it, so that neither a crash nor a second process ever sees half of
 * it.
 */
async function generate(print) {
  console.log('generating the database client')
  await mkdir(DRAFTS, { recursive: true })
  const draft = await mkdtemp(join(DRAFTS, 'generate-'))
  try {
    await cp(join(ROOT, 'prisma/schema.prisma'), join(draft, 'prisma/schema.prisma'))
    await runPrisma(draft)
    const made = join(draft, 'src/generated')
    await removeWrites(join(made, 'prisma/internal/class.ts'))
    await writeFile(join(made, FINGERPRINT), print)
    await replace(made, join(draft, 'old'))
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

async function bundle() {
  const { bundleProgram } = await import('./bundle.ts')
  await bundleProgram(ROOT).catch((error) => {
    console.error(`The program is not bundled, so that it starts more slowly: ${error.message}`)
  })
  const { bundlePython } = await import('./bundle-python.ts')
  await bundlePython(ROOT).catch((error) => {
    console.error(`The Python client is not bundled, so that the server does not offer it: ${error.message}`)
  })
  const { bundleUi } = await import('./bundle-ui.ts')
  await bundleUi(ROOT).catch((error) => {
    console.error(`The web UI is not bundled, so that the server has none: ${error.message}`)
  })
}

async function runPrisma(cwd) {
  const bin = join(ROOT, 'node_modules/.bin')
  const env = {
    ...process.env,
    PATH: `${bin}${delimiter}${process.env.PATH ?? ''}`,
    // Any executable file will do: generating never runs the engine, and would otherwise download it.
    PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
    PRISMA_HIDE_UPDATE_MESSAGE: '1',
    CHECKPOINT_DISABLE: '1',
  }
  const program = join(ROOT, 'node_modules/prisma/build/index.js')
  const args = [program, 'generate', '--schema', join(cwd, 'prisma/schema.prisma')]
  try {
    await promisify(execFile)(process.execPath, args, { cwd, env })
  } catch (error) {
    stop(`The database client could not be generated:\n${error.stdout ?? ''}${error.stderr ?? error}`)
  }
}

async function replace(made, old) {
  await rename(GENERATED, old).catch((error) => error.code === 'ENOENT' || Promise.reject(error))
  await rename(made, GENERATED).catch((error) => {
    // Another process was first, with the same result.
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
  })
}

function stop(message) {
  console.error(message)
  process.exit(1)
}
