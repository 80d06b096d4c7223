/** Puts the program, the web UI and the Python client at their places in the package. */

import { cp, mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pythonReleasePath, uiReleasePath } from '../src/program/bundle.ts'
import { releaseProgram } from './bundle.ts'
import { bundlePython } from './bundle-python.ts'
import { bundleUi } from './bundle-ui.ts'

const ROOT = join(import.meta.dirname, '..')
await releaseProgram(ROOT)
const bundles = [
  [await bundleUi(ROOT), uiReleasePath(ROOT)],
  [await bundlePython(ROOT), pythonReleasePath(ROOT)],
] as const
for (const [from, to] of bundles) {
  await rm(to, { recursive: true, force: true })
  await cp(from, to, { recursive: true })
}
// `npm pack` writes into this directory (.npmrc), and fails where it is missing.
const packages = join(ROOT, 'dist/package')
await rm(packages, { recursive: true, force: true })
await mkdir(packages)
