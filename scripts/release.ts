/** Puts the program and the web UI at their places in the package. */

import { cp, mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { uiReleasePath } from '../src/program/bundle.ts'
import { releaseProgram } from './bundle.ts'
import { bundleUi } from './bundle-ui.ts'

const ROOT = join(import.meta.dirname, '..')
await releaseProgram(ROOT)
const ui = uiReleasePath(ROOT)
await rm(ui, { recursive: true, force: true })
await cp(await bundleUi(ROOT), ui, { recursive: true })
// `npm pack` writes into this directory (.npmrc), and fails where it is missing.
const packages = join(ROOT, 'dist/package')
await rm(packages, { recursive: true, force: true })
await mkdir(packages)
