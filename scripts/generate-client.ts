import { writeFile } from 'node:fs/promises'
import { relative } from 'node:path'
import { CLIENT_ENUMS, generateClientEnums } from './client-enums.ts'
import { CLIENT_ERRORS, generateClientErrors } from './client-errors.ts'
import { CLIENT_OPERATIONS, generateClientOperations } from './client-operations.ts'

const files = [
  [CLIENT_OPERATIONS, await generateClientOperations()],
  [CLIENT_ERRORS, generateClientErrors()],
  [CLIENT_ENUMS, generateClientEnums()],
] as const
for (const [path, text] of files) {
  await writeFile(path, text)
  console.log(`wrote ${relative(process.cwd(), path)}`)
}
