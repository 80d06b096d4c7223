import { expect, test } from 'vitest'
import { KERNEL_VARIABLES } from '../../src/domain/session/kernel-environment.ts'
import { tableRows } from './document-tables.ts'

test('docs/executors.md says of each variable of kernels what the code says', async () => {
  const rows = await tableRows('docs/executors.md', 'The environment of kernels')
  expect(rows).toEqual(Object.entries(KERNEL_VARIABLES))
})
