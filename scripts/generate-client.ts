import { writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { CLIENT_ENUMS, generateClientEnums } from './client-enums.ts'
import { CLIENT_ERRORS, generateClientErrors } from './client-errors.ts'
import { CLIENT_OPERATIONS, generateClientOperations } from './client-operations.ts'
import { generateUiOperations } from './ui-operations.ts'

const files = [
  [CLIENT_OPERATIONS, await generateClientOperations()],
  [CLIENT_ERRORS, generateClientErrors()],
  [CLIENT_ENUMS, generateClientEnums()],
  ...[...(await generateUiOperations())].map(([path, text]) => [join(import.meta.dirname, '..', path), text] as const),
] as const
for (const [path, text] of files) {
  await writeFile(path, text)
  console.log(`wrote ${relative(process.cwd(), path)}`)
}
