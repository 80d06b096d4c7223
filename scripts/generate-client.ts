import { writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { CLIENT_ENUMS, generateClientEnums } from './client-enums.ts'
import { CLIENT_ERRORS, generateClientErrors } from './client-errors.ts'
import { generateOperations } from './operations.ts'

const ROOT = join(import.meta.dirname, '..')

const files = [
  [CLIENT_ERRORS, generateClientErrors()],
  [CLIENT_ENUMS, generateClientEnums()],
  ...[...(await generateOperations())].map(([path, text]) => [join(ROOT, path), text] as const),
] as const
for (const [path, text] of files) {
  await writeFile(path, text)
  console.log(`wrote ${relative(process.cwd(), path)}`)
}
