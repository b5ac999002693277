using System;
using System.Security.Cryptography;

namespace House
{
    public class Account
    {
        private const int Limit = 3;

        private string word;
        private int tries;

        public bool Login(string given)
        {
            if (tries++ >= Limit)
            {
                return false;
            }
            return CryptographicOperations.FixedTimeEquals(Bytes(word), Bytes(given));
        }

        private static byte[] Bytes(string text) => System.Text.Encoding.UTF8.GetBytes(text);
    }
}
