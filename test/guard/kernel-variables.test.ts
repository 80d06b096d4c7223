import { expect, test } from 'vitest'
import { KERNEL_VARIABLES } from '../../src/domain/session/kernel-variables.ts'
import { readmeRows } from './readme-tables.ts'

test('the README says of each variable of kernels what the code says', async () => {
  const rows = await readmeRows('What kernels are told')
  expect(rows).toEqual(Object.entries(KERNEL_VARIABLES))
})
