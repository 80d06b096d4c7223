import { expect, test } from 'vitest'
import { createPrisma } from '../../../src/store/prisma.ts'
import { testDatabase } from '../../support/database.ts'

test('a read that takes too long is ended by the database, and its connection goes on', async () => {
  const database = await testDatabase()
  const { connectionString } = database
  const prisma = createPrisma({ connectionString, connectionsMax: 1, readTimeoutMs: 200, onError: () => {} })
  await expect(prisma.$queryRawUnsafe('SELECT 1 FROM pg_sleep(60)')).rejects.toThrow(/57014|statement timeout/)
  await expect(prisma.$queryRawUnsafe('SELECT 1 AS one')).resolves.toEqual([{ one: 1 }])
  await prisma.$disconnect()
  await database.close()
})
