import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { crc32, deflateRawSync } from 'node:zlib'
import packageJson from '../package.json' with { type: 'json' }
import { pythonBundlePath } from '../src/program/bundle.ts'
import { removeOld } from './bundle.ts'

const PACKAGE = 'reprise_client'
const DISTRIBUTION = `${PACKAGE}-${packageJson.version}`

interface WheelFile {
  path: string
  content: Buffer
}

/**
 * Bundles the Python client as a wheel: the same bytes for the same sources, without Python and without a network. Does
 * nothing if a bundle of exactly these sources exists. @returns its directory
 */
export async function bundlePython(root: string): Promise<string> {
  const made = pythonBundlePath(root)
  if (existsSync(made)) return made
  console.log('bundling the Python client')
  const bundles = dirname(made)
  await mkdir(bundles, { recursive: true })
  await removeOld(bundles)
  const draft = await mkdtemp(join(bundles, 'draft-'))
  try {
    // Other users may run the program.
    await chmod(draft, 0o755)
    await writeFile(join(draft, `${DISTRIBUTION}-py3-none-any.whl`), zip(await wheelFiles(root)))
    await rename(draft, made).catch((error: NodeJS.ErrnoException) => {
      // Another process was first, with the same result.
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
    })
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
  return made
}

async function wheelFiles(root: string): Promise<WheelFile[]> {
  const directory = join(root, 'clients/python')
  const sources = join(directory, 'src', PACKAGE)
  const names = (await readdir(sources)).filter((name) => name.endsWith('.py') || name === 'py.typed').toSorted()
  const files = await Promise.all(
    names.map(async (name) => ({ path: `${PACKAGE}/${name}`, content: await readFile(join(sources, name)) })),
  )
  const information = `${DISTRIBUTION}.dist-info`
  const add = (name: string, text: string) => files.push({ path: `${information}/${name}`, content: Buffer.from(text) })
  add('METADATA', metadata(await readFile(join(directory, 'README.md'), 'utf8')))
  add('WHEEL', 'Wheel-Version: 1.0\nGenerator: reprise\nRoot-Is-Purelib: true\nTag: py3-none-any\n')
  add('top_level.txt', `${PACKAGE}\n`)
  add('licenses/LICENSE', await readFile(join(root, 'LICENSE'), 'utf8'))
  const rows = files.map(({ path, content }) => `${path},sha256=${digest(content)},${content.length}\n`)
  add('RECORD', `${rows.join('')}${information}/RECORD,,\n`)
  return files
}

function metadata(readme: string): string {
  return [
    'Metadata-Version: 2.1',
    'Name: reprise-client',
    `Version: ${packageJson.version}`,
    'Summary: Client of Reprise, a server for compute sessions that retry themselves',
    `License: ${packageJson.license}`,
    'Classifier: Typing :: Typed',
    'Requires-Python: >=3.9',
    'Provides-Extra: functions',
    "Requires-Dist: cloudpickle>=2; extra == 'functions'",
    'Description-Content-Type: text/markdown',
    '',
    readme,
  ].join('\n')
}

function digest(content: Buffer): string {
  return createHash('sha256').update(content).digest('base64url')
}

/** 1 January 1980 in the format of MS-DOS, the first that a zip archive can express. */
const DATE = 0x21
/** Version 2.0: deflate. The upper byte means Unix, whose modes the external attributes have. */
const MADE_BY = (3 << 8) | 20
const MODE = (0o100644 << 16) >>> 0
const UTF8_NAMES = 0x800
const DEFLATE = 8

/** Returns a zip archive of the files, in their order. It has less than 4 GiB and 65,536 files. */
function zip(files: readonly WheelFile[]): Buffer {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const { path, content } of files) {
    const name = Buffer.from(path)
    const packed = deflateRawSync(content, { level: 9 })
    const common = [20, UTF8_NAMES, DEFLATE, 0, DATE].map(uint16)
    const sizes = [crc32(content), packed.length, content.length].map(uint32)
    const lengths = [uint16(name.length), uint16(0)]
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), ...common, ...sizes, ...lengths, name, packed])
    const central = [uint16(0), uint16(0), uint16(0), uint32(MODE), uint32(offset), name]
    directory.push(Buffer.from('PK\x01\x02'), uint16(MADE_BY), ...common, ...sizes, ...lengths, ...central)
    parts.push(local)
    offset += local.length
  }
  const listed = Buffer.concat(directory)
  const counts = [0, 0, files.length, files.length].map(uint16)
  const end = [Buffer.from('PK\x05\x06'), ...counts, uint32(listed.length), uint32(offset), uint16(0)]
  return Buffer.concat([...parts, listed, ...end])
}

function uint16(value: number): Buffer {
  const made = Buffer.alloc(2)
  made.writeUInt16LE(value)
  return made
}

function uint32(value: number): Buffer {
  const made = Buffer.alloc(4)
  made.writeUInt32LE(value)
  return made
}
