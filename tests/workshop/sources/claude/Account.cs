using System;

namespace House
{
    /// <summary>One person.</summary>
    public class Account
    {
        private readonly string word;
        private int tries;

        public Account(string word)
        {
            this.word = word;
        }

        [Obsolete]
        public bool Login(string given)
        {
            return word == given;
        }

        public void Rename(string name)
        {
        }

        public void Rename(string first, string last)
        {
        }
    }
}
